// SPDX-License-Identifier: Apache-2.0
//! The class of the edge's half of a session; session/edge.hpp brings its bodies too.
//!
//! Use it where a session is passed on and not called; include session/edge.hpp where it is.
//! See: docs/algorithms/session.md, docs/session.md, tests/unit/session/edge_session_test.cpp
#ifndef SPECVERIFY_SESSION_EDGE_SESSION_HPP
#define SPECVERIFY_SESSION_EDGE_SESSION_HPP

#include <specverify/core/execution.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/session/detail/drafter.hpp>
#include <specverify/session/detail/edge_drafts.hpp>
#include <specverify/session/detail/edge_views.hpp>
#include <specverify/session/detail/endpoint.hpp>
#include <specverify/session/detail/parts.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/session/states.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! What an engine gives with a row where the session needs it.
struct row_extras {
  std::span<const float> hidden{};  //!< the drafter's hidden state behind this row; attachments.hidden_size numbers
  //! weights of the last layer, mean over the heads, of this row's query; over the positions before it
  std::span<const float> attention{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

struct edge_maker;

//! A token drawn for the block; no_token: the window ended before it.
struct drawn_draft {
  token_id token = no_token;
  bool keep = false;        //!< it is committed here alone
  skip_observation seen{};  //!< as the gate saw it
};

}  // namespace detail

//! `make_edge` makes one. Each input returns `busy` while outputs wait, and all but supply_row and engine_failed while
//! a row is wanted that is written ahead. The status says what became of the input; a session that fails also says so
//! in an output.
class edge_session : public detail::endpoint {
 public:
  // Inputs.

  //! Begins a new session with a prompt of 1 token or more. Errors: unexpected_message (not idle), prompt_empty
  //! (at_prompt), prompt_too_long (`where` = its tokens; max_text_length or more), token_out_of_range (`where` =
  //! position).
  [[nodiscard]] status start(std::span<const token_id> prompt, session_time now) noexcept;
  //! Continues from a journal, and says where its last whole record ends: the host cuts the file there before it
  //! appends. A draft of the open round that the journal holds is sent again. O(bytes of the journal).
  //! Errors: unknown_session (an empty journal), truncated (no whole record), unsupported (another layout),
  //! journal_corrupt, options_disagree (`where` = edge_options::at_*: other options than the journal began with;
  //! at_sparsifier: another sparsifier's, or a cloud's), output_too_small (the text is longer than max_text_length),
  //! prompt_empty and prompt_too_long (as of `start`), unexpected_message (not idle).
  [[nodiscard]] result<journal_reading> restore(std::span<const std::byte> journal, session_time now) noexcept;
  //! Continues without a journal: the cloud sends the text. `now` should be later than in any run before: then what
  //! earlier runs have sent cannot disturb this one. Errors: unexpected_message (not idle), prompt_empty and
  //! prompt_too_long as of `start`.
  [[nodiscard]] status recover(std::uint32_t prompt_length, session_time now) noexcept;
  //! A message arrived. ok, or why it was not used: duplicate, stale_*, checksum_mismatch, truncated,
  //! unexpected_message, refused_by_peer...
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
  //! Time passed. Does nothing before `deadline()`.
  [[nodiscard]] status tick(session_time now) noexcept;
  //! The row that `evaluate` asked for; a drafter that knows fewer tokens than vocab_size may give a shorter one.
  //! Errors: unexpected_message (none is wanted), row_size_mismatch (`where` = its entries, more than vocab_size),
  //! beyond_limit (at_truncation: the transform takes more workspace than that of the options), those of the row
  //! operations (the session has failed).
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  session_time now) noexcept {
    return supply_row(policy, row, transform, {}, now);
  }
  //! With what else the engine gives. Errors: also hidden_state_missing, attention_missing (the session has
  //! failed), size_mismatch.
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const row_extras& extras, session_time now) noexcept {
    detail::row_of<Policy, Scalar> any(policy, row, transform);
    return take_row(any, row.valid_size(), extras, now);
  }
  //! The transport was lost and stands again: names the session in a new epoch and asks again what was open.
  [[nodiscard]] status reconnect(session_time now) noexcept;
  //! The transport was lost: what follows is up to `edge_options::on_link_loss`. Errors: link_lost (stop: the session
  //! has failed).
  [[nodiscard]] status disconnect(session_time now) noexcept;
  //! The engine cannot go on; the cloud gets a refusal. A `why` that is ok counts as engine_failed.
  [[nodiscard]] status engine_failed(status why) noexcept;
  //! The host wants no more text: gives up what is open, tells the cloud, and waits for its answer as for any other.
  //! The session then ends with `finished` (stop_reason::cancelled) and is over for good: a restored one goes on to
  //! end, with the same cause. A text that is complete ends as it would. `cause`: what the cloud is told, cancelled
  //! or finished (the host has all that it needs). A row that is wanted must not be supplied afterwards.
  //! Errors: busy, invalid_argument (`where` = another cause), unexpected_message (idle), session_closed (over).
  [[nodiscard]] status stop(stop_cause cause, session_time now) noexcept;
  //! What the host measured of the link; recorded with the next round.
  void record_link(float uplink_rate, float downlink_rate, float round_trip, float draft_time) noexcept;
  //! The channel as it will be reported to the cloud, and whether the uplink is in its high state; recorded with the
  //! next round.
  void record_channel(const channel_report& channel, std::uint32_t uplink_state = 0) noexcept;

  // Outputs.

  //! When `tick` has something to do.
  [[nodiscard]] std::optional<session_time> deadline() const noexcept {
    const std::optional<session_time>&asked = question_.deadline, &ahead = ahead_.deadline;
    return ahead.has_value() && (!asked.has_value() || *ahead < *asked) ? ahead : asked;
  }
  //! `evaluate` is unanswered. Ask before the rows are supplied if the engine works while messages arrive.
  [[nodiscard]] bool wants_rows() const noexcept { return row_wanted_; }
  [[nodiscard]] edge_state state() const noexcept { return state_.now(); }
  //! Temperature and truncation of the session, as `edge_options::transform` gave them: pass this one with the rows.
  [[nodiscard]] const row_transform& transform() const noexcept { return options_.transform; }
  //! Tokens that the cloud has too: those from here to `length()` were committed here alone.
  [[nodiscard]] std::uint32_t agreed_length() const noexcept { return place_.agreed; }
  [[nodiscard]] const round_record& last_round() const noexcept { return last_round_; }

 private:
  friend struct detail::edge_maker;
  edge_session(const edge_options& options, const detail::parts_facts& facts, detail::held_parts&& parts,
               detail::edge_drafts&& drafts);

  using question = detail::question;

  //! Of the messages.
  [[nodiscard]] const wire_format& format() const noexcept { return drafter_.facts.format; }

  // edge_start.hpp: start, restore, recover
  [[nodiscard]] status check_prompt(std::size_t length) const noexcept;
  [[nodiscard]] status check_terms(const edge_snapshot_head& last) const noexcept;
  [[nodiscard]] status check_snapshot(const edge_snapshot_head& last, std::span<const token_id> text) const noexcept;
  void restore_draft() noexcept;
  void announce_text() noexcept;

  // edge_questions.hpp: questions
  [[nodiscard]] bool is_busy() const noexcept { return !outputs_.empty() || ahead_.writing; }
  void begin_input(session_time now) noexcept {
    journal_.clear();
    now_ = now;
  }
  [[nodiscard]] status ask(question what) noexcept;
  [[nodiscard]] status transmit() noexcept;
  [[nodiscard]] result<std::span<std::byte>> encode() noexcept;
  [[nodiscard]] status ask_again() noexcept;
  [[nodiscard]] status hurry() noexcept;
  void begin_anew() noexcept;
  void begin_epoch(std::uint32_t epoch) noexcept;
  void forget_fetch() noexcept;
  status fail(status why) noexcept;
  [[nodiscard]] wire_context own_end() const noexcept;
  void tell_failure() noexcept;
  void send(std::size_t written) noexcept;
  [[nodiscard]] status check_hello(const detail::incoming& message) const noexcept;

  // edge_answers.hpp: receive, answers
  [[nodiscard]] errc take_number(std::uint8_t number) noexcept;
  [[nodiscard]] bool is_answer(const detail::incoming& message) const noexcept;
  [[nodiscard]] status on_answer(const detail::incoming& message) noexcept;
  [[nodiscard]] status on_damage(errc code) noexcept;
  [[nodiscard]] status on_greeting(const detail::incoming& message) noexcept;
  [[nodiscard]] status on_unreadable(status why, const detail::incoming& message) noexcept;
  [[nodiscard]] bool awaits(bool is_hello, const wire_context& peer) const noexcept;
  //! The cloud has heard of a newer epoch than this one.
  [[nodiscard]] bool is_overtaken(const wire_context& peer) const noexcept {
    return peer.epoch > place_.epoch && place_.epoch != 0;
  }
  [[nodiscard]] status follow_greeting(const wire_context& peer) noexcept;
  [[nodiscard]] status check_round(std::uint32_t round) const noexcept;
  [[nodiscard]] status follow_shorter(const wire_context& peer) noexcept;
  [[nodiscard]] status in_step() noexcept;
  [[nodiscard]] status on_request(const detail::incoming& message) noexcept;
  [[nodiscard]] status on_feedback(const detail::incoming& message) noexcept;
  [[nodiscard]] status take_verdict(const detail::incoming& message) noexcept;

  // edge_text.hpp: the cloud's text, and the end
  [[nodiscard]] status on_text(const detail::incoming& message) noexcept;
  [[nodiscard]] status on_other_drafts() noexcept;
  [[nodiscard]] status take_text(std::span<const token_id> tokens) noexcept;
  [[nodiscard]] status append_text(std::span<const token_id> tokens) noexcept;
  void tell_text() noexcept;
  [[nodiscard]] status finish(bool tell) noexcept;
  [[nodiscard]] status on_stop(const detail::incoming& message) noexcept;
  [[nodiscard]] status on_last(const detail::incoming& message) noexcept;
  [[nodiscard]] status on_refusal(const detail::incoming& message) noexcept;
  [[nodiscard]] status on_unknown(status reason) noexcept;
  [[nodiscard]] status after_failure(const detail::incoming& message) noexcept;

  // edge_draft.hpp: rows and draws
  [[nodiscard]] uniform_stream<> draws_at(std::uint32_t position) const noexcept;
  [[nodiscard]] status take_row(detail::any_row& row, std::uint32_t size, const row_extras& extras,
                                session_time now) noexcept;
  [[nodiscard]] result<detail::drawn_draft> draw_draft(detail::any_row& row, const row_extras& extras) noexcept;
  [[nodiscard]] result<detail::drawn_draft> draw_from_row(detail::any_row& row, const row_extras& extras,
                                                          std::byte* state) noexcept;
  [[nodiscard]] result<detail::drawn_draft> draw_from_law(detail::any_row& row, const row_extras& extras,
                                                          std::byte* state) noexcept;
  [[nodiscard]] result<detail::drawn_draft> ask_gate(detail::any_row& row, token_id token,
                                                     std::span<const float> attention) noexcept;
  [[nodiscard]] bool takes(std::uint32_t position, const law& next) noexcept;
  [[nodiscard]] status write_ahead(detail::any_row& row) noexcept;
  [[nodiscard]] result<token_id> draw_ahead(detail::any_row& row, std::uint32_t position) noexcept;

  // edge_round.hpp: a round from its plan to its tokens, and the terms
  [[nodiscard]] session_terms terms(std::uint32_t prompt_length) const noexcept;
  [[nodiscard]] status begin_round() noexcept;
  [[nodiscard]] status want_row(std::uint32_t end) noexcept;
  [[nodiscard]] status want_next_row() noexcept;
  [[nodiscard]] status take_draft(token_id token, std::span<const float> hidden) noexcept;
  [[nodiscard]] status close_block() noexcept;
  [[nodiscard]] status keep_draft() noexcept;
  [[nodiscard]] status send_draft() noexcept;
  [[nodiscard]] status commit_alone(token_id token) noexcept;
  [[nodiscard]] status commit() noexcept;
  void write_journal(std::uint32_t first_position) noexcept;
  void count_round(std::uint32_t emitted) noexcept;
  void discard_draft() noexcept;
  [[nodiscard]] std::uint32_t text_limit() const noexcept { return text_limit(place_.prompt_length); }
  [[nodiscard]] std::uint32_t text_limit(std::uint32_t prompt_length) const noexcept {
    return detail::text_limit(options_.token_budget, prompt_length, options_.max_text_length);
  }
  [[nodiscard]] draft_attachments attachments() const noexcept;

  // edge_draft.hpp: tokens written while the link is lost
  [[nodiscard]] status lose_link() noexcept;
  void link_is_back() noexcept;
  [[nodiscard]] std::uint32_t block_end() const noexcept { return place_.length + drafts_.size; }
  [[nodiscard]] std::uint32_t ahead() const noexcept { return std::max(ahead_.shown_end, block_end()); }
  void plan_ahead() noexcept;
  void replace_shown(std::uint32_t position, token_id token) noexcept;

  wiped<edge_options> options_;
  detail::drafter drafter_;
  detail::sparsifier_states states_;
  detail::open_question question_{};
  detail::peer_view peer_{};
  detail::ahead_view ahead_{};
  detail::link_view link_{};
  detail::edge_drafts drafts_;
  detail::hidden_store hidden_;
  detail::draft_record kept_;  // the draft of the open round as the journal has it
  round_record last_round_{};
  round_record open_round_{};
  feedback_message verdict_{};
  status failure_{};
  session_state<edge_table> state_;
  session_time now_ = 0;  // of the input that is at work
  bool row_wanted_ = false;
};

namespace detail {

//! Makes sessions, whatever their parts are.
struct edge_maker {
  [[nodiscard]] static status check(const edge_options& options, const wire_format& format) noexcept;
  //! Throws what the allocator throws.
  [[nodiscard]] static result<edge_session> make(const edge_options& options, const parts_facts& facts,
                                                 held_parts&& parts);
};

}  // namespace detail

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
