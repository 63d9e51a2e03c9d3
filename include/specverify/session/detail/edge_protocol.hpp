// SPDX-License-Identifier: Apache-2.0
//! An edge without its drafter: questions and answers, text, journal, link. It says what is due; the session, which
//! knows the sparsifier, does it.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_PROTOCOL_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_PROTOCOL_HPP

#include <specverify/session/detail/draft_record.hpp>
#include <specverify/session/detail/edge_drafts.hpp>
#include <specverify/session/detail/edge_parts.hpp>
#include <specverify/session/detail/endpoint.hpp>
#include <specverify/session/options.hpp>

#include <optional>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! What the session has to do before an input is done.
enum class due : std::uint8_t {
  nothing,
  verdict,  //!< renew the sparsifier's state from `verdict_`, then `commit`
  round,    //!< plan a round: `open_round`
  draft     //!< the block is complete: put what the drafter knows into `kept_`, then `send_draft`
};

class edge_protocol : public endpoint {
 public:
  // Inputs and outputs as basic_edge_session says them.
  [[nodiscard]] status start(std::span<const token_id> prompt, session_time now) noexcept;
  [[nodiscard]] result<journal_reading> restore_journal(std::span<const std::byte> journal, session_time now) noexcept;
  [[nodiscard]] status recover(std::uint32_t prompt_length, session_time now) noexcept;
  [[nodiscard]] status tick(session_time now) noexcept;
  [[nodiscard]] status reconnect(session_time now) noexcept;
  [[nodiscard]] status disconnect(session_time now) noexcept;
  [[nodiscard]] status engine_failed(status why) noexcept;
  [[nodiscard]] status stop(stop_cause cause, session_time now) noexcept;
  void record_link(float uplink_rate, float downlink_rate, float round_trip, float draft_time) noexcept;
  void record_channel(const channel_report& channel, std::uint32_t uplink_state = 0) noexcept;

  [[nodiscard]] std::optional<session_time> deadline() const noexcept {
    const std::optional<session_time>& asked = question_.deadline();
    const std::optional<session_time>& ahead = ahead_.deadline();
    return ahead.has_value() && (!asked.has_value() || *ahead < *asked) ? ahead : asked;
  }
  [[nodiscard]] bool wants_rows() const noexcept { return row_wanted_; }
  [[nodiscard]] edge_state state() const noexcept { return state_; }
  [[nodiscard]] const row_transform& transform() const noexcept { return options_.transform; }
  [[nodiscard]] std::uint32_t agreed_length() const noexcept { return place_.agreed(); }
  [[nodiscard]] const round_record& last_round() const noexcept { return last_round_; }

 protected:
  //! `strength`: what the skip policy leaves of the guarantee. `observes`: the window asks for probabilities.
  edge_protocol(const edge_options& options, guarantee strength, bool observes, edge_drafts&& drafts,
                committed_state&& state);

  // edge_start.hpp
  [[nodiscard]] static status check_options(const edge_options& options) noexcept;
  [[nodiscard]] status check_prompt(std::size_t length) const noexcept;
  [[nodiscard]] recorded_terms terms(std::uint32_t prompt_length) const noexcept;
  [[nodiscard]] status check_terms(const edge_snapshot_head& last) const noexcept;
  [[nodiscard]] status check_snapshot(const edge_snapshot_head& last, std::span<const token_id> text) const noexcept;
  void restore_draft() noexcept;
  void announce_text() noexcept;
  void write_journal(std::uint32_t first_position) noexcept;

  // edge_link.hpp: questions
  [[nodiscard]] bool is_busy() const noexcept { return !outputs_.empty() || ahead_.is_writing(); }
  [[nodiscard]] status ask(question what, session_time now) noexcept;
  [[nodiscard]] status transmit(session_time now) noexcept;
  [[nodiscard]] result<std::span<std::byte>> encode() noexcept;
  [[nodiscard]] hello_message greeting() const noexcept;
  [[nodiscard]] status ask_again(session_time now) noexcept;
  [[nodiscard]] status hurry(session_time now) noexcept;
  void begin_anew() noexcept;
  void begin_epoch(std::uint32_t epoch) noexcept;
  void forget_fetch() noexcept;
  status fail(status why) noexcept;
  [[nodiscard]] status on_unknown(status reason, session_time now) noexcept;
  [[nodiscard]] wire_context own_end() const noexcept;
  void tell_failure() noexcept;
  void send(std::size_t written) noexcept;

  // edge_answers.hpp: answers
  [[nodiscard]] status receive_message(std::span<const std::byte> message, session_time now) noexcept;
  [[nodiscard]] errc take_number(std::uint8_t number) noexcept;
  [[nodiscard]] bool is_answer(std::span<const std::byte> message, const message_header& header) const noexcept;
  [[nodiscard]] status on_answer(std::span<const std::byte> message, const message_header& header,
                                 session_time now) noexcept;
  [[nodiscard]] status on_damage(errc code, session_time now) noexcept;
  [[nodiscard]] status on_greeting(std::span<const std::byte> message, const message_header& header,
                                   session_time now) noexcept;
  [[nodiscard]] status on_unreadable(status why, std::span<const std::byte> message, const message_header& header,
                                     session_time now) noexcept;
  [[nodiscard]] bool awaits(bool is_hello, const wire_context& peer) const noexcept;
  //! The cloud has heard of a newer epoch than this one.
  [[nodiscard]] bool is_overtaken(const wire_context& peer) const noexcept {
    return peer.epoch > place_.epoch() && place_.epoch() != 0;
  }
  [[nodiscard]] status check_hello(std::span<const std::byte> message) const noexcept;
  [[nodiscard]] status follow_greeting(const wire_context& peer, session_time now) noexcept;
  [[nodiscard]] status check_round(std::uint32_t round) const noexcept;
  [[nodiscard]] status follow_shorter(const wire_context& peer, session_time now) noexcept;
  [[nodiscard]] status on_text(std::span<const std::byte> message, const message_header& header,
                               session_time now) noexcept;
  [[nodiscard]] status on_other_drafts(session_time now) noexcept;
  [[nodiscard]] status take_text(std::span<const token_id> tokens, session_time now) noexcept;
  [[nodiscard]] status append_text(std::span<const token_id> tokens) noexcept;
  void tell_text() noexcept;
  [[nodiscard]] status in_step(session_time now) noexcept;
  [[nodiscard]] status on_request(std::span<const std::byte> message, session_time now) noexcept;
  [[nodiscard]] status on_feedback(std::span<const std::byte> message) noexcept;

  // edge_end.hpp
  [[nodiscard]] status finish(bool tell, session_time now = 0) noexcept;
  [[nodiscard]] stop_cause cause() const noexcept;
  [[nodiscard]] status on_stop(std::span<const std::byte> message, session_time now) noexcept;
  [[nodiscard]] status on_last(std::span<const std::byte> message, session_time now) noexcept;

  // edge_refusals.hpp
  [[nodiscard]] status on_refusal(std::span<const std::byte> message, const message_header& header,
                                  session_time now) noexcept;
  [[nodiscard]] status after_failure(std::span<const std::byte> message, const message_header& header) noexcept;

  // edge_round.hpp: the session drafts between `open_round` and `close_block`
  void open_round(const draft_plan& plan, session_time now) noexcept;
  [[nodiscard]] status want_row(std::uint32_t end) noexcept;
  [[nodiscard]] status want_next_row() noexcept;
  [[nodiscard]] status take_draft(token_id token, std::span<const float> hidden) noexcept;
  [[nodiscard]] status keep_hidden(std::span<const float> hidden) noexcept;
  void close_block() noexcept;
  [[nodiscard]] status keep_draft(bool beyond) noexcept;
  [[nodiscard]] status send_draft(session_time now) noexcept;
  [[nodiscard]] status commit_alone(token_id token, session_time now) noexcept;
  [[nodiscard]] status commit(session_time now) noexcept;
  void count_round(std::uint32_t emitted, session_time now) noexcept;
  void discard_draft() noexcept;
  [[nodiscard]] std::uint32_t text_limit() const noexcept { return text_limit(place_.prompt_length()); }
  [[nodiscard]] std::uint32_t text_limit(std::uint32_t prompt_length) const noexcept;
  void note_end() noexcept;
  [[nodiscard]] draft_attachments attachments() const noexcept;

  // edge_ahead.hpp: tokens written while the link is lost
  [[nodiscard]] status lose_link(session_time now) noexcept;
  void link_is_back() noexcept;
  [[nodiscard]] std::uint32_t block_end() const noexcept { return place_.length() + drafts_.size(); }
  [[nodiscard]] std::uint32_t ahead() const noexcept { return std::max(ahead_.shown_end(), block_end()); }
  void plan_ahead(session_time now) noexcept;
  [[nodiscard]] status show_ahead(token_id token, session_time now) noexcept;
  void replace_shown(std::uint32_t position, token_id token) noexcept;

  wiped<edge_options> options_;
  guarantee strength_;
  committed_state sparsifier_state_;
  open_question question_{};
  peer_view peer_{};
  ahead_view ahead_{};
  link_view link_{};
  edge_drafts drafts_;
  hidden_store hidden_;
  draft_record kept_;  // the draft of the open round as the journal has it
  round_record last_round_{};
  round_record open_round_{};
  feedback_message verdict_{};
  status failure_{};
  edge_state state_ = edge_state::idle;
  due due_ = due::nothing;
  bool row_wanted_ = false;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
