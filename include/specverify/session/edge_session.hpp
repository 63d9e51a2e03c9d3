// SPDX-License-Identifier: Apache-2.0
//! Declares `edge_session`, the class of the edge's half of a session.
//!
//! Include it in code that only passes a session on. Code that calls a session must include session/edge.hpp, which
//! contains the function bodies.
//! Cost: O(bytes) per message, O(V) per row; only `make_edge` allocates.
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

//! Values that an engine must return with a row if the session needs them.
struct row_extras {
  std::span<const float> hidden{};  //!< the drafter's hidden state after this row: attachments.hidden_size numbers
  //! attention weights of this row's query over all positions so far, from the last layer, averaged over the heads
  std::span<const float> attention{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

struct edge_maker;

//! A token that was drawn for the draft, or no_token if the window ended before this token.
struct drawn_draft {
  token_id token = no_token;
  bool keep = false;        //!< the edge commits the token without the cloud
  skip_observation seen{};  //!< inputs of the skip policy's decision
};

}  // namespace detail

//! The edge's half of a session, made by `make_edge`. Begin with `start`, `restore` or `recover`. Take all outputs
//! after each input; until then, inputs return `busy`. While the session waits for the row of a token written ahead,
//! all inputs except supply_row, engine_failed and stop return `busy`, too. A session that fails also emits `failed`.
class edge_session : public detail::endpoint {
 public:
  // Inputs.

  //! Begins a new session with a prompt of 1 token or more.
  //! Errors: unexpected_message (not idle), prompt_empty (at_prompt), prompt_too_long (`where` = tokens of the prompt,
  //! max_text_length or more), token_out_of_range (`where` = position).
  [[nodiscard]] status start(std::span<const token_id> prompt, session_time now) noexcept;
  //! Continues from a journal, and sends a journaled draft of the open round again. The host must truncate the file to
  //! the returned length before it appends. O(bytes of the journal).
  //! Errors: unknown_session (the journal is empty), truncated (no whole record), unsupported (a different layout),
  //! journal_corrupt, output_too_small (the text is longer than max_text_length), prompt_empty and prompt_too_long (as
  //! for `start`), unexpected_message (not idle), options_disagree (the option edge_options::at_* in `where` has
  //! changed since the journal began; at_sparsifier: the sparsifier has changed, or the journal is a cloud's).
  [[nodiscard]] result<journal_reading> restore(std::span<const std::byte> journal, session_time now) noexcept;
  //! Continues without a journal: the cloud sends the text. Errors: unexpected_message (not idle); prompt_empty and
  //! prompt_too_long, as for `start`.
  [[nodiscard]] status recover(std::uint32_t prompt_length, session_time now) noexcept;
  //! Takes a message. Returns ok if the session used it. Otherwise returns the reason, for example checksum_mismatch (a
  //! new handshake begins), unexpected_message (such as a message from before the handshake), session_closed, or the
  //! reason why the session fails now.
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
  //! Reports the time. Has no effect before `deadline()`. Errors: peer_timeout (retry_limit handshakes without
  //! progress; the session has failed).
  [[nodiscard]] status tick(session_time now) noexcept;
  //! Takes the row that `evaluate` requested. It may have fewer than vocab_size entries, if the drafter has fewer
  //! tokens. O(V). Errors: unexpected_message (no row is wanted). Any other error ends the session: row_size_mismatch
  //! (`where` = entries of the row, more than vocab_size), beyond_limit (at_truncation: the transform takes more
  //! workspace than the options' transform), errors of the row operations.
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  session_time now) noexcept {
    return supply_row(policy, row, transform, {}, now);
  }
  //! Takes a row together with hidden state and attention. Further errors, which end the session: hidden_state_missing,
  //! size_mismatch (`where` = numbers of the hidden state), value_not_finite, field_out_of_range; attention_missing,
  //! invalid_attention.
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const row_extras& extras, session_time now) noexcept {
    detail::row_of<Policy, Scalar> any(policy, row, transform);
    return take_row(any, row.valid_size(), extras, now);
  }
  //! Reports that a connection is open; it may be the previous connection or a new one. The handshake begins.
  [[nodiscard]] status reconnect(session_time now) noexcept;
  //! Reports that the connection was lost. An open draft is still completed; then `edge_options::on_link_loss`
  //! determines the behaviour. Errors: link_lost (link_loss::stop: the session has failed).
  [[nodiscard]] status disconnect(session_time now) noexcept;
  //! Reports that the engine cannot continue; the cloud receives a refusal. If `why` is ok, the error is engine_failed.
  [[nodiscard]] status engine_failed(status why) noexcept;
  //! Ends the text because the host needs no more tokens. The edge drops the open draft, tells the cloud the cause, and
  //! emits `finished` (stop_reason::cancelled) after the cloud's response. A restart in between does not change this. A
  //! text that is already complete ends as usual. Do not supply a row that was requested before this call.
  //! Errors: busy, invalid_argument (`where` = the cause, which must be cancelled or finished), unexpected_message
  //! (idle), session_closed (over).
  [[nodiscard]] status stop(stop_cause cause, session_time now) noexcept;
  //! Records the host's measurements of the link for the next round.
  void record_link(float uplink_rate, float downlink_rate, float round_trip, float draft_time) noexcept;
  //! Records the channel to report to the cloud, and whether the uplink is in its high state, for the next round.
  void record_channel(const channel_report& channel, std::uint32_t uplink_state = 0) noexcept;

  // Outputs.

  //! Returns the next output, or `none`. Text that the cloud does not have is sent in chunks, one per call.
  [[nodiscard]] session_output next() noexcept {
    if (outputs_.empty() && pieces_.open) push_text();
    return outputs_.pop();
  }
  //! Returns when to call `tick`, or no value if no call is necessary.
  [[nodiscard]] std::optional<session_time> deadline() const noexcept {
    const std::optional<session_time>&asked = deadline_, &ahead = ahead_.deadline;
    return ahead.has_value() && (!asked.has_value() || *ahead < *asked) ? ahead : asked;
  }
  //! Returns whether the session waits for the row of an `evaluate`. If messages can arrive while the engine works,
  //! check this before you supply the row.
  [[nodiscard]] bool wants_rows() const noexcept { return row_wanted_; }
  [[nodiscard]] edge_state state() const noexcept { return state_.now(); }
  //! Returns the temperature and truncation of `edge_options::transform`. Supply this transform with the rows.
  [[nodiscard]] const row_transform& transform() const noexcept { return options_.transform; }
  //! Returns the length of the prefix that the cloud also has. The edge committed the later tokens, up to `length()`,
  //! on its own.
  [[nodiscard]] std::uint32_t agreed_length() const noexcept { return place_.agreed; }
  //! Returns the code of drafted ids that the last handshake agreed on; `plain` before the first handshake of this
  //! process.
  [[nodiscard]] id_code agreed_id_code() const noexcept { return drafter_.facts.format.ids; }
  [[nodiscard]] const round_record& last_round() const noexcept { return last_round_; }

 private:
  friend struct detail::edge_maker;
  edge_session(const edge_options& options, const detail::parts_facts& facts, detail::held_parts&& parts,
               detail::edge_drafts&& drafts);

  //! Returns the format of the draft messages.
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
  //! Returns the code of ids for which this edge asks.
  [[nodiscard]] id_code wanted_ids() const noexcept {
    return options_.prior != nullptr && !is_stream() ? options_.ids : id_code::plain;
  }
  //! Returns whether a connection is open, over which this side has sent a hello.
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

  // edge_text.hpp: text that one side does not have, streams, the end
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

  // edge_round.hpp: a round from plan to commit, and the terms
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
  [[nodiscard]] result<std::size_t> code_ids(std::size_t body) noexcept;
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
  struct fetched_text {  // text that only the cloud has; used only when complete
    std::uint32_t length = 0, round = 0;
    std::uint64_t hash = 0;
    verdict_notice last{};
    std::uint32_t at = 0;      // end of the text received so far
    std::uint64_t so_far = 0;  // hash of the text received so far
  };
  fetched_text fetched_{};
  detail::ahead_view ahead_{};
  detail::link_view link_{};
  detail::edge_drafts drafts_;
  detail::hidden_store hidden_;
  detail::draft_record kept_;  // the journaled draft of the open round
  round_record last_round_{};
  round_record open_round_{};
  feedback_message verdict_{};
  coupling_noise noise_{noise_kind::none, 0};  // as in the cloud's hello
  session_state<edge_table> state_;
  session_time now_ = 0;  // time of the current input
  std::optional<session_time> deadline_{};
  owned_memory<token_id> shown_ahead_;        // tokens shown to the host ahead, saved while text is fetched
  std::size_t body_ = 0;                      // bytes of the draft that is ready in `message_`
  std::uint32_t in_vain_ = 0;                 // handshakes since the last progress
  std::uint32_t furthest_ = 0;                // length of the longest text that the cloud has reported
  std::uint32_t stale_from_ = 0;              // the cache's length after truncation when the obsolete row arrives
  stop_cause cause_ = stop_cause::cancelled;  // sent with `stop` if the host ends the text
  bool row_wanted_ = false;
  bool row_stale_ = false;  // the wanted row is obsolete
};

namespace detail {

//! Makes an edge; this code is compiled only once for all types of parts.
struct edge_maker {
  [[nodiscard]] static status check(const edge_options& options, const wire_format& format) noexcept;
  //! If the allocator throws, the exception passes through.
  [[nodiscard]] static result<edge_session> make(const edge_options& options, const parts_facts& facts,
                                                 held_parts&& parts);
};

}  // namespace detail

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
