// SPDX-License-Identifier: Apache-2.0
//! The class of the cloud's half of a session; session/cloud.hpp brings its bodies too.
//!
//! Use it where a session is passed on and not called; include session/cloud.hpp where it is.
//! See: docs/algorithms/session.md, docs/session.md, tests/unit/session/cloud_session_test.cpp
#ifndef SPECVERIFY_SESSION_CLOUD_SESSION_HPP
#define SPECVERIFY_SESSION_CLOUD_SESSION_HPP

#include <specverify/core/execution.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/cloud_views.hpp>
#include <specverify/session/detail/endpoint.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/session/states.hpp>
#include <specverify/verify/concepts.hpp>

#include <cstddef>
#include <optional>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Each input returns `busy` while outputs wait. The status says what became of the input; a session that fails also
//! says so in an output, and tells the edge.
class cloud_session : public detail::endpoint {
 public:
  //! The smallest limits that serve sessions in this format (`format_of` the edge), with text messages of up to
  //! `text_chunk` tokens.
  [[nodiscard]] static cloud_limits limits_for(const wire_format& format,
                                               std::uint32_t text_chunk = cloud_options{}.text_chunk) noexcept;

  // Inputs.

  //! Continues from a journal, and says where its last whole record ends: the host cuts the file there before it
  //! appends. A cloud that kept none simply waits for a hello. O(bytes of the journal).
  //! Errors: unknown_session (an empty journal), truncated (no whole record), unsupported (another layout),
  //! journal_corrupt (also what no message can have made), options_disagree (at_journal: not a cloud's),
  //! output_too_small (the text is longer than max_text_length), those of a hello that other options cure
  //! (vocabulary_mismatch, fingerprint_mismatch, beyond_limit, guarantee_too_weak), unverified_text (`required` is
  //! unconditional, and the edge handed some of the text over), unexpected_message (not blank).
  [[nodiscard]] result<journal_reading> restore(std::span<const std::byte> journal) noexcept;
  //! A message arrived. ok, or why it was not used: a hello's refusal, no_handshake (the edge is told, and says hello),
  //! refused_by_peer (the edge has failed; its next life may come); or why the session has failed.
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
  //! The connection of the last hello was lost: nothing is sent, and no stream goes on, before the next hello. A host
  //! need not say so, and must not where it closes a connection that another hello has replaced.
  void disconnect() noexcept { leave_connection(); }
  //! The rows that `evaluate` asked for: rows(i) is the row of the i-th of its last `rows` tokens, rows.transform(i)
  //! what makes it final. rows.failed(), which may be missing, returns why a row or a transform could not be had. If
  //! the edge's host has ended the text meanwhile, the rows are dropped (ok).
  //! Errors: unexpected_message (none are wanted), row_size_mismatch (`where` = its entries; a row has vocab_size,
  //! padding left out; the session has failed), beyond_limit (at_truncation: a transform takes more workspace than
  //! that of the options), those of the rule (the session has failed; the edge gets a refusal).
  template <execution_policy Policy, row_provider Rows>
  [[nodiscard]] status supply_rows(Policy policy, const Rows& rows, session_time now) noexcept;
  //! The scores that `score` asked for, one per named draft, ascending, in [0, 1]. They are not used once the edge has
  //! said stop.
  //! Errors: unexpected_message (none are wanted), size_mismatch (another number of them; ask again), those of
  //!         `decide_semantically` (failed).
  [[nodiscard]] status supply_scores(std::span<const double> scores, session_time now) noexcept;
  //! The engine cannot go on; the edge gets a refusal. A `why` that is ok counts as engine_failed.
  [[nodiscard]] status engine_failed(status why) noexcept;

  // Outputs.

  //! The next output, `none` if there is none. Text that the edge lacks is sent piece by piece, as they are taken.
  [[nodiscard]] session_output next() noexcept {
    if (outputs_.empty() && pieces_.open) push_text();
    return outputs_.pop();
  }
  //! `evaluate` is unanswered; another one does not come before. Ask before the rows are supplied if the engine works
  //! while messages arrive.
  [[nodiscard]] bool wants_rows() const noexcept { return rows_wanted_; }
  //! `score` is unanswered.
  [[nodiscard]] bool wants_scores() const noexcept { return state_ == cloud_state::scoring; }
  [[nodiscard]] cloud_state state() const noexcept { return state_.now(); }
  [[nodiscard]] std::uint64_t session_id() const noexcept { return place_.session_id; }
  //! The last round that this process decided.
  [[nodiscard]] const decided_round& last_round() const noexcept { return last_round_; }
  //! The state of its channel as the edge reported it with the open round's draft; zeros if the format has no report.
  [[nodiscard]] const channel_report& reported_channel() const noexcept { return channel_; }
  //! First position of the open round's drafts: the host's target states for `score` stand at the rows of supply_rows
  //! from here on.
  [[nodiscard]] std::uint32_t draft_position() const noexcept { return place_.length + drafts_.skipped; }
  //! Temperature and truncation that the edge's hello asks for. The session does not apply them: the text has the law
  //! of the rows with *their* transform. A host passes this one with its rows, or ends the session by `engine_failed`
  //! with invalid_temperature or invalid_truncation.
  [[nodiscard]] row_transform transform() const noexcept { return detail::transform_of(terms_); }

 private:
  friend result<cloud_session> make_cloud(const cloud_options& options);
  cloud_session(const cloud_options& options, received_draft_block&& block);

  // cloud_start.hpp: make, restore
  [[nodiscard]] static status check_options(const cloud_options& options) noexcept;
  [[nodiscard]] status check_snapshot(const cloud_snapshot& last, std::span<const token_id> text) const noexcept;
  [[nodiscard]] std::uint32_t text_limit() const noexcept {
    return detail::text_limit(terms_.token_budget, place_.prompt_length, options_.max_text_length);
  }
  //! Tokens that may still be generated.
  [[nodiscard]] std::uint32_t remaining() const noexcept {
    return place_.length < text_limit() ? text_limit() - place_.length : 0;
  }

  // cloud_handshake.hpp: connections, messages, refusals, failure
  [[nodiscard]] bool round_is_open() const noexcept {
    return state_ == cloud_state::evaluating || state_ == cloud_state::scoring || state_ == cloud_state::requesting;
  }
  //! A hello is answered behind what is at work.
  [[nodiscard]] bool engine_works() const noexcept { return rows_wanted_ || state_ == cloud_state::scoring; }
  //! The text that is wanted from the edge is there, and the prompt.
  [[nodiscard]] bool is_whole() const noexcept { return place_.has_prompt() && place_.length >= target_.length; }
  void leave_connection() noexcept;
  void send(std::size_t written) noexcept;
  [[nodiscard]] status post(const result<std::span<std::byte>>& encoded) noexcept;
  status refuse(status reason) noexcept;
  status fail(status why) noexcept;
  [[nodiscard]] status on_message(message_kind kind, std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_misfit(status why) noexcept;
  [[nodiscard]] status on_unusable(status why) noexcept;
  [[nodiscard]] status on_refusal(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_hello(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status check_terms(const session_terms& terms, std::uint32_t prompt_length) const noexcept;
  [[nodiscard]] status check_session(const hello_message& hello) const noexcept;
  [[nodiscard]] status check_text(const hello_message& hello) const noexcept;
  [[nodiscard]] status check_claim(std::uint32_t claimed, std::uint32_t own) const noexcept;
  void begin_session(const hello_message& hello) noexcept;
  [[nodiscard]] status answer(const detail::edge_place& edge) noexcept;
  [[nodiscard]] status answer_owed() noexcept;
  void in_step() noexcept;
  void settle() noexcept;

  // cloud_text.hpp: text of either side that the other one lacks, the end
  void push_text() noexcept;
  [[nodiscard]] status tell_end() noexcept;
  [[nodiscard]] status on_text(std::span<const std::byte> message) noexcept;
  [[nodiscard]] status on_stop(std::span<const std::byte> message) noexcept;
  //! The text has ended by this side's stop tokens, which the edge does not list.
  [[nodiscard]] bool knows_end_alone() const noexcept {
    return place_.stop == stop_reason::stop_token && !peer_lists_stops_;
  }

  // cloud_round.hpp
  void stream_on() noexcept;
  [[nodiscard]] status on_draft(std::span<const std::byte> message) noexcept;
  void ask_for_rows() noexcept;
  [[nodiscard]] verify_request round_request() const noexcept;
  [[nodiscard]] status commit(const result<verdict>& made) noexcept;
  void count_round(std::uint32_t round, const verdict& decided) noexcept;
  [[nodiscard]] status tell(const wire_place& asked, std::uint32_t base, const verdict& decided) noexcept;
  void write_journal(std::uint32_t first_position) noexcept;
  [[nodiscard]] status decide_or_ask() noexcept;
  [[nodiscard]] status send_request() noexcept;
  void want_scores() noexcept;
  [[nodiscard]] status on_supply(std::span<const std::byte> message) noexcept;

  // cloud.hpp
  [[nodiscard]] bool drafts_have_laws() const noexcept {
    return !detail::streams(terms_) && detail::laws_travel(terms_);
  }
  //! Does `work` with the drafts of the open round.
  template <class Work>
  [[nodiscard]] auto with_drafts(const Work& work) const noexcept {
    return drafts_have_laws() ? work(drafts_.with_laws.drafts()) : work(drafts_.without_laws());
  }
  template <class Policy, class Rows>
  [[nodiscard]] result<verdict> decide(Policy policy, const Rows& rows) noexcept;

  wiped<cloud_options> options_;
  session_terms terms_{};
  verdict_notice last_{};
  text_target target_{};
  detail::received_drafts drafts_;
  detail::round_scoring scoring_;
  decided_round last_round_{};
  channel_report channel_{};
  status failure_{};
  session_state<cloud_table> state_;
  std::optional<detail::edge_place> owed_{};  // a hello that came while the engine worked
  bool shaken_ = false;                       // hello was answered over this connection
  bool peer_lists_stops_ = false;             // as the last hello said
  bool rows_wanted_ = false;                  // the engine has an `evaluate`
  bool stopped_ = false;                      // the edge said stop, and the host heard of it
  untouched_memory<std::byte> verify_space_;
};

//! Errors: vocab_size_missing, vocabulary_too_large, secret_missing, salt_missing; invalid_temperature and
//!         invalid_truncation (at_transform); invalid_argument (`where` = cloud_options::at_*).
//!         Of the limits: max_draft_length outside 1..4096, max_law_entries 0, max_message_bytes too few for a text
//!         message, skipped ids or hidden states that no message within it holds. Also out_of_memory. Memory that an
//!         option sizes is address space until something is written to it.
[[nodiscard]] result<cloud_session> make_cloud(const cloud_options& options);

SPECVERIFY_NAMESPACE_END

#endif
