// SPDX-License-Identifier: Apache-2.0
//! A cloud without its rows: messages, text, journal, the open round. The session, which reads rows, decides.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_PROTOCOL_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_PROTOCOL_HPP

#include <specverify/session/detail/cloud_parts.hpp>
#include <specverify/session/detail/endpoint.hpp>
#include <specverify/session/detail/formats.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/states.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

class cloud_protocol : public endpoint {
 public:
  // Inputs and outputs as cloud_session says them.
  [[nodiscard]] result<journal_reading> restore(std::span<const std::byte> journal) noexcept;
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
  [[nodiscard]] status supply_scores(std::span<const double> scores, session_time now) noexcept;
  [[nodiscard]] status engine_failed(status why) noexcept;

  [[nodiscard]] bool wants_rows() const noexcept { return rows_wanted_; }
  [[nodiscard]] bool wants_scores() const noexcept { return state_ == cloud_state::scoring; }
  [[nodiscard]] cloud_state state() const noexcept { return state_.now(); }
  [[nodiscard]] std::uint64_t session_id() const noexcept { return place_.session_id(); }
  [[nodiscard]] const decided_round& last_round() const noexcept { return last_round_; }
  [[nodiscard]] const channel_report& reported_channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint32_t draft_position() const noexcept { return place_.length() + drafts_.skipped(); }
  [[nodiscard]] row_transform transform() const noexcept { return terms_.transform(); }

 protected:
  cloud_protocol(const cloud_options& options, received_draft_block&& block);

  // cloud_start.hpp
  [[nodiscard]] static status check_options(const cloud_options& options) noexcept;
  [[nodiscard]] static status check_limits(const cloud_options& options) noexcept;
  [[nodiscard]] status check_snapshot(const cloud_snapshot& last, std::span<const token_id> text) const noexcept;
  [[nodiscard]] bool check_kept(const cloud_snapshot& last, std::span<const token_id> text) const noexcept;
  void write_journal(std::uint32_t first_position) noexcept;
  void settle() noexcept;
  [[nodiscard]] std::uint32_t remaining() const noexcept;

  // cloud_link.hpp: classify, refuse, number
  [[nodiscard]] bool round_is_open() const noexcept {
    return state_ == cloud_state::evaluating || state_ == cloud_state::scoring || state_ == cloud_state::requesting;
  }
  [[nodiscard]] bool engine_works() const noexcept {
    return state_ == cloud_state::evaluating || state_ == cloud_state::scoring;
  }
  [[nodiscard]] status on_damage(errc code, std::uint32_t checksum = 0) noexcept;
  [[nodiscard]] status on_unknown(const message_header& header) noexcept;
  [[nodiscard]] status on_refusal(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] status after_failure(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] status on_unreadable(status why, std::span<const std::byte> message,
                                     const message_header& header) noexcept;
  [[nodiscard]] status answer_stale() noexcept;
  [[nodiscard]] status on_late(const wire_context& then, const message_header& header) noexcept;
  [[nodiscard]] status closed(const wire_context& asked) noexcept;
  [[nodiscard]] status on_stranger(const wire_context& peer) noexcept;
  [[nodiscard]] status on_other_round(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] wire_context awaited() const noexcept;
  [[nodiscard]] errc take_again(std::uint8_t number) noexcept;
  [[nodiscard]] status accept_epoch(const wire_context& peer) noexcept;
  void aim_at(const wire_context& peer) noexcept;
  void send(std::size_t written) noexcept;
  void post(std::size_t written, std::uint32_t first_position) noexcept;
  void refuse(const wire_context& context, status reason) noexcept;
  void tell(const wire_context& context, status reason) noexcept;
  status fail(status why) noexcept;

  // cloud_end.hpp
  [[nodiscard]] status on_stop(std::span<const std::byte> message, const message_header& header) noexcept;
  void cancel() noexcept;
  //! The text has ended by this side's stop tokens, which the edge does not list.
  [[nodiscard]] bool knows_end_alone() const noexcept {
    return place_.stop() == stop_reason::stop_token && !peer_lists_stops_;
  }
  [[nodiscard]] result<std::span<std::byte>> encode_end() noexcept;
  [[nodiscard]] status tell_end() noexcept;

  // cloud_answers.hpp
  [[nodiscard]] status on_hello(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] status on_resume(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] status check_hello(const hello_message& hello) const noexcept;
  [[nodiscard]] status check_terms(const session_terms& terms, std::uint32_t prompt_length) const noexcept;
  [[nodiscard]] status check_format(const wire_format& format) const noexcept;
  [[nodiscard]] status check_claim(std::uint32_t claimed, std::uint32_t own) const noexcept;
  [[nodiscard]] status check_length(const wire_context& peer) noexcept;
  void begin_session(const hello_message& hello, const message_header& header) noexcept;
  [[nodiscard]] status accept_nonce(std::uint64_t nonce) noexcept;
  [[nodiscard]] bool reopens(std::uint32_t earlier_epoch) noexcept;
  //! The edge has text that has not come; also where it has failed meanwhile.
  [[nodiscard]] bool fills() const noexcept {
    return state_ == cloud_state::filling || (gone_ && place_.length() < target_.length());
  }
  [[nodiscard]] bool is_without_text(const wire_context& peer) const noexcept;
  [[nodiscard]] bool wants_text(const wire_context& peer) const noexcept;
  [[nodiscard]] bool has_prefix(const wire_context& peer) const noexcept {
    return hash_at(peer.base_length) == peer.prefix_hash;
  }
  [[nodiscard]] status greet(message_kind kind, const wire_context& peer = {}) noexcept;
  [[nodiscard]] status greet_again(const wire_context& peer, const message_header& header, status late) noexcept;

  // cloud_text.hpp
  [[nodiscard]] status on_text(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] status on_repeated_text(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] bool finds_text(std::span<const std::byte> message, const message_header& header,
                                wire_context& found) const noexcept;
  [[nodiscard]] status take_text(std::span<const token_id> tokens) noexcept;
  [[nodiscard]] status send_text(const wire_context& asked, std::uint32_t from) noexcept;
  void stream_on() noexcept;

  // cloud_round.hpp
  [[nodiscard]] status on_draft(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] result<bool> repeats(std::span<const std::byte> message) noexcept;
  void want_rows() noexcept;
  [[nodiscard]] status drop_rows() noexcept;
  [[nodiscard]] verify_request round_request() const noexcept;
  [[nodiscard]] uniforms<> round_uniforms() const noexcept;
  [[nodiscard]] status commit(const result<verdict>& made) noexcept;
  void count_round(const verdict& decided) noexcept;
  [[nodiscard]] status answer(const wire_context& asked, const session_output& alone,
                              const session_output& out) noexcept;
  [[nodiscard]] status send_feedback() noexcept;
  void abandon() noexcept;

  // cloud_extras.hpp: the semantic rule
  [[nodiscard]] status decide_or_ask() noexcept;
  [[nodiscard]] status send_request() noexcept;
  void want_scores() noexcept;
  [[nodiscard]] status on_supply(std::span<const std::byte> message, const message_header& header) noexcept;
  [[nodiscard]] status take_supply(std::span<const std::byte> message, const message_header& header) noexcept;

  wiped<cloud_options> options_;
  session_terms terms_{};
  kept_verdict kept_{};
  text_target target_{};
  std::uint64_t nonce_ = 0;  // of the last edge that came without a journal
  received_drafts drafts_;
  round_scoring scoring_;
  decided_round last_round_{};
  channel_report channel_{};
  session_state<cloud_table> state_;
  message_kind owed_ = message_kind::stop;  // a greeting that arrived while the engine worked is answered afterwards
  std::uint8_t unrecorded_ = 0;             // as refusals_per_record counts, since the last journal record
  bool rows_wanted_ = false;                // the engine has an `evaluate`
  bool rows_stale_ = false;                 // whose rows are of no use
  bool stopped_ = false;                    // the edge said stop, and the host heard of it
  bool gone_ = false;                       // failed: the edge said so of itself
  bool recovers_ = false;  // the epoch is that of an edge without a journal, which has not begun one since
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
