// SPDX-License-Identifier: Apache-2.0
//! The edge's state machine: questions and answers, rounds and drafts, text, journal, link.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_PROTOCOL_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_PROTOCOL_HPP

#include <specverify/session/detail/draft_record.hpp>
#include <specverify/session/detail/drafter.hpp>
#include <specverify/session/detail/edge_drafts.hpp>
#include <specverify/session/detail/edge_parts.hpp>
#include <specverify/session/detail/endpoint.hpp>
#include <specverify/session/detail/sparsifier_states.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/states.hpp>

#include <optional>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! What an engine gives with a row where the session needs it.
struct row_extras {
  std::span<const float>
      hidden{};  //!< the drafter's hidden state behind this row; format.attachments.hidden_size numbers
  //! weights of the last layer, mean over the heads, of this row's query; over the positions before it
  std::span<const float> attention{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! A token drawn for the block; no_token: the window ended before it.
struct drawn_draft {
  token_id token = no_token;
  bool keep = false;        //!< it is committed here alone
  skip_observation seen{};  //!< as the gate saw it
};

class edge_protocol : public endpoint {
 public:
  // Inputs and outputs as edge_session says them.
  [[nodiscard]] status start(std::span<const token_id> prompt, session_time now) noexcept;
  [[nodiscard]] result<journal_reading> restore(std::span<const std::byte> journal, session_time now) noexcept;
  [[nodiscard]] status recover(std::uint32_t prompt_length, session_time now) noexcept;
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
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
  [[nodiscard]] edge_state state() const noexcept { return state_.now(); }
  [[nodiscard]] const row_transform& transform() const noexcept { return options_.transform; }
  [[nodiscard]] std::uint32_t agreed_length() const noexcept { return place_.agreed(); }
  [[nodiscard]] const round_record& last_round() const noexcept { return last_round_; }

 protected:
  edge_protocol(const edge_options& options, const parts_facts& facts, held_parts&& parts, edge_drafts&& drafts);

  // edge_start.hpp
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
  [[nodiscard]] status on_feedback(std::span<const std::byte> message, session_time now) noexcept;
  [[nodiscard]] status take_verdict(std::span<const std::byte> message) noexcept;

  // edge_end.hpp
  [[nodiscard]] status finish(bool tell, session_time now = 0) noexcept;
  [[nodiscard]] stop_cause cause() const noexcept;
  [[nodiscard]] status on_stop(std::span<const std::byte> message, session_time now) noexcept;
  [[nodiscard]] status on_last(std::span<const std::byte> message, session_time now) noexcept;

  // edge_refusals.hpp
  [[nodiscard]] status on_refusal(std::span<const std::byte> message, const message_header& header,
                                  session_time now) noexcept;
  [[nodiscard]] status after_failure(std::span<const std::byte> message, const message_header& header) noexcept;

  // edge_draft.hpp
  [[nodiscard]] status begin_round(session_time now) noexcept;
  void learn() noexcept;
  [[nodiscard]] uniform_stream<> draws_at(std::uint32_t position) const noexcept;
  [[nodiscard]] status take_row(any_row& row, std::uint32_t size, const row_extras& extras, session_time now) noexcept;
  [[nodiscard]] result<drawn_draft> draw_draft(any_row& row, const row_extras& extras) noexcept;
  [[nodiscard]] result<drawn_draft> draw_from_row(any_row& row, const row_extras& extras, std::byte* state) noexcept;
  [[nodiscard]] result<drawn_draft> draw_from_law(any_row& row, const row_extras& extras, std::byte* state) noexcept;
  [[nodiscard]] result<drawn_draft> ask_gate(any_row& row, token_id token, std::span<const float> attention) noexcept;
  [[nodiscard]] bool takes(std::uint32_t position, const law& next) noexcept;
  [[nodiscard]] status write_ahead(any_row& row, session_time now) noexcept;
  [[nodiscard]] result<token_id> draw_ahead(any_row& row, std::uint32_t position) noexcept;

  // edge_round.hpp
  void open_round(const draft_plan& plan, session_time now) noexcept;
  [[nodiscard]] status want_row(std::uint32_t end) noexcept;
  [[nodiscard]] status want_next_row(session_time now) noexcept;
  [[nodiscard]] status take_draft(token_id token, std::span<const float> hidden, session_time now) noexcept;
  [[nodiscard]] status keep_hidden(std::span<const float> hidden) noexcept;
  [[nodiscard]] status close_block(session_time now) noexcept;
  [[nodiscard]] status keep_draft() noexcept;
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
  drafter drafter_;
  sparsifier_states states_;
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
  session_state<edge_table> state_;
  bool row_wanted_ = false;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
