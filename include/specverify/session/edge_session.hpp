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
  //! Continues without a journal: the cloud sends the text. Errors: unexpected_message (not idle), prompt_empty and
  //! prompt_too_long as of `start`.
  [[nodiscard]] status recover(std::uint32_t prompt_length, session_time now) noexcept;
  //! A message arrived. ok, or why it was not used: unexpected_message (of before the handshake, say),
  //! checksum_mismatch (hands are shaken again), session_closed; or why the session has failed.
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
  //! A connection stands again, or another one: hands are shaken over it.
  [[nodiscard]] status reconnect(session_time now) noexcept;
  //! The connection was lost: what follows is up to `edge_options::on_link_loss`. An open draft is completed. Errors:
  //! link_lost (stop: the session has failed).
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

  //! The next output, `none` if there is none. Text that the cloud lacks is sent piece by piece, as they are taken.
  [[nodiscard]] session_output next() noexcept {
    if (outputs_.empty() && pieces_.open) push_text();
    return outputs_.pop();
  }
  //! When `tick` has something to do.
  [[nodiscard]] std::optional<session_time> deadline() const noexcept {
    const std::optional<session_time>&asked = deadline_, &ahead = ahead_.deadline;
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

  //! Of the messages.
  [[nodiscard]] const wire_format& format() const noexcept { return drafter_.facts.format; }

  // edge_start.hpp: start, restore, recover
  [[nodiscard]] status check_prompt(std::size_t length) const noexcept;
  [[nodiscard]] status check_terms(const edge_snapshot_head& last) const noexcept;
  [[nodiscard]] status check_snapshot(const edge_snapshot_head& last, std::span<const token_id> text) const noexcept;
  void restore_draft() noexcept;
  void announce_text() noexcept;

  // edge_handshake.hpp: connections, messages, refusals, failure
  [[nodiscard]] bool is_busy() const noexcept { return !outputs_.empty() || ahead_.writing; }
  void begin_input(session_time now) noexcept {
    journal_.clear();
    now_ = now;
  }
  [[nodiscard]] bool is_stream() const noexcept { return options_.mode == session_mode::stream; }
  //! There is a connection, and hello was sent over it.
  [[nodiscard]] bool is_connected() const noexcept {
    const edge_state now = state_.now();
    return now >= edge_state::handshaking && now <= edge_state::stopping;
  }
  void await_answer() noexcept;
  [[nodiscard]] status connect() noexcept;
  [[nodiscard]] status shake_hands() noexcept;
  [[nodiscard]] status shake_again() noexcept;
  void leave_connection() noexcept;
  void send(std::size_t written) noexcept;
  [[nodiscard]] status post(const result<std::span<std::byte>>& encoded) noexcept;
  [[nodiscard]] status on_message(message_kind kind, std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_misfit(status misfit) noexcept;
  [[nodiscard]] status on_unusable(status why) noexcept;
  [[nodiscard]] status on_hello(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status check_hello(const hello_message& theirs) const noexcept;
  [[nodiscard]] status in_step() noexcept;
  [[nodiscard]] status on_refusal(std::span<const std::byte> message) noexcept;
  status fail(status why) noexcept;

  // edge_text.hpp: text of either side that the other one lacks, streams, the end
  void push_text() noexcept;
  void begin_fetch(const hello_message& theirs) noexcept;
  void drop_fetch() noexcept;
  [[nodiscard]] status on_text(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_stream(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status take_fetched() noexcept;
  [[nodiscard]] bool is_verdict() const noexcept;
  void tell_text(std::uint32_t shown, std::uint32_t journaled, bool ends) noexcept;
  [[nodiscard]] status finish() noexcept;
  [[nodiscard]] status end() noexcept;
  [[nodiscard]] status on_stop(std::span<const std::byte> message) noexcept;

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
  [[nodiscard]] status drop_row() noexcept;
  [[nodiscard]] status write_ahead(detail::any_row& row) noexcept;
  [[nodiscard]] result<token_id> draw_ahead(detail::any_row& row, std::uint32_t position) noexcept;

  // edge_round.hpp: a round from its plan to its tokens, and the terms
  [[nodiscard]] session_terms terms(std::uint32_t prompt_length) const noexcept;
  [[nodiscard]] session_terms own_terms() const noexcept { return terms(place_.prompt_length); }
  [[nodiscard]] status begin_round() noexcept;
  [[nodiscard]] status on_request(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_feedback(std::span<const std::byte> message) noexcept;
  void learn() noexcept;
  [[nodiscard]] status want_row(std::uint32_t end) noexcept;
  [[nodiscard]] status want_next_row() noexcept;
  [[nodiscard]] status take_draft(token_id token, std::span<const float> hidden) noexcept;
  [[nodiscard]] status close_block() noexcept;
  [[nodiscard]] status encode_draft_body() noexcept;
  void keep_draft() noexcept;
  [[nodiscard]] status send_draft() noexcept;
  [[nodiscard]] status commit_alone(token_id token) noexcept;
  [[nodiscard]] status commit(std::uint32_t next_round) noexcept;
  void write_journal(std::uint32_t first_position) noexcept;
  void count_round(std::uint32_t emitted) noexcept;
  void discard_draft() noexcept;
  [[nodiscard]] std::uint32_t text_limit() const noexcept { return text_limit(place_.prompt_length); }
  [[nodiscard]] std::uint32_t text_limit(std::uint32_t prompt_length) const noexcept {
    return detail::text_limit(options_.token_budget, prompt_length, options_.max_text_length);
  }
  [[nodiscard]] draft_attachments attachments() const noexcept;

  // edge_draft.hpp: tokens written while the link is lost
  void link_is_back() noexcept;
  [[nodiscard]] std::uint32_t block_end() const noexcept { return place_.length + drafts_.size; }
  [[nodiscard]] std::uint32_t ahead() const noexcept { return std::max(ahead_.shown_end, block_end()); }
  void plan_ahead() noexcept;
  void replace_shown(std::uint32_t position, token_id token) noexcept;

  wiped<edge_options> options_;
  detail::drafter drafter_;
  detail::sparsifier_states states_;
  detail::fetched_text fetched_{};
  detail::ahead_view ahead_{};
  detail::link_view link_{};
  detail::edge_drafts drafts_;
  detail::hidden_store hidden_;
  detail::draft_record kept_;  // the draft of the open round as the journal has it
  round_record last_round_{};
  round_record open_round_{};
  feedback_message verdict_{};
  session_state<edge_table> state_;
  session_time now_ = 0;  // of the input that is at work
  std::optional<session_time> deadline_{};
  owned_memory<token_id> shown_ahead_;        // while text is fetched over them
  std::size_t body_ = 0;                      // bytes of the draft that stand ready in `message_`
  std::uint32_t in_vain_ = 0;                 // handshakes since the last progress
  std::uint32_t furthest_ = 0;                // the most text that the cloud has told of
  std::uint32_t stale_from_ = 0;              // a row of no use is at work, for a text that ended here
  stop_cause cause_ = stop_cause::cancelled;  // what `stop` says if the host ends the text
  bool row_wanted_ = false;
  bool row_stale_ = false;  // and it is of no use
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
