// SPDX-License-Identifier: Apache-2.0
//! The class of the cloud's half of a session; session/cloud.hpp brings its bodies too.
//!
//! Use it where a session is passed on and not called; include session/cloud.hpp where it is.
//! See: docs/algorithms/session.md, docs/session.md, tests/unit/session/cloud_session_test.cpp
#ifndef SPECVERIFY_SESSION_CLOUD_SESSION_HPP
#define SPECVERIFY_SESSION_CLOUD_SESSION_HPP

#include <specverify/core/execution.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/cloud_protocol.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/verify/concepts.hpp>

#include <cstddef>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Each input returns `busy` while outputs wait. The status says what became of the input; a session that fails also
//! says so in an output, and tells the edge.
class cloud_session : private detail::cloud_protocol {
 public:
  using snapshot = cloud_snapshot;

  //! Errors: vocab_size_missing, vocabulary_too_large, secret_missing, salt_missing; invalid_temperature and
  //!         invalid_truncation (at_transform); invalid_argument (`where` = cloud_options::at_*).
  //!         Of the limits: max_draft_length outside 1..4096, max_law_entries 0, max_message_bytes too few for a text
  //!         message, skipped ids or hidden states that no message within it holds. Also out_of_memory. Memory that an
  //!         option sizes is address space until something is written to it.
  [[nodiscard]] static result<cloud_session> make(const cloud_options& options);

  //! The smallest limits that serve sessions in this format, with text messages of the default text_chunk. L = 0
  //! and l = 0 stand for an edge's defaults (8 drafts, unless its window says more; l = 100), K = 0 for any support.
  [[nodiscard]] static cloud_limits limits_for(const wire_format& format) noexcept;
  //! Those of an edge with these options.
  [[nodiscard]] static cloud_limits limits_for(const edge_options& options) noexcept {
    return limits_for(format_of(options));
  }

  // Inputs.

  //! result<journal_reading> restore(std::span<const std::byte> journal)
  //! Continues from a journal, and says where its last whole record ends: the host cuts the file there before it
  //! appends. A cloud that kept none simply waits for messages. O(bytes of the journal).
  //! Errors: unknown_session (an empty journal), truncated (no whole record), unsupported (another layout),
  //! journal_corrupt (also what no message can have made), options_disagree (at_journal: not a cloud's),
  //! output_too_small (the text is longer than max_text_length), those of a hello that other options cure
  //! (vocabulary_mismatch, fingerprint_mismatch, beyond_limit, guarantee_too_weak), unverified_text (`required` is
  //! unconditional, and the edge handed some of the text over), unexpected_message (not blank).
  using cloud_protocol::restore;
  //! status receive(std::span<const std::byte> message, session_time now)
  //! A message arrived. ok, or why it was not used.
  using cloud_protocol::receive;
  //! The rows that `evaluate` asked for: rows(i) is the row of the i-th of its last `rows` tokens, rows.transform(i)
  //! what makes it final. Where a message has made them useless meanwhile, they are dropped (ok), and what waited for
  //! the engine is asked for.
  //! Errors: unexpected_message (none are wanted), row_size_mismatch (`where` = its entries; a row has vocab_size,
  //! padding left out; the session has failed), beyond_limit (at_truncation: a transform takes more workspace than
  //! that of the options), those of the rule (the session has failed; the edge gets a refusal).
  template <execution_policy Policy, row_provider Rows>
  [[nodiscard]] status supply_rows(Policy policy, const Rows& rows, session_time now) noexcept;
  //! status supply_scores(std::span<const double> scores, session_time now)
  //! The scores that `score` asked for, one per named draft, ascending, in [0, 1]. They are not used once the edge has
  //! said stop.
  //! Errors: unexpected_message (none are wanted), size_mismatch (another number of them; ask again), those of
  //!         `decide_semantically` (failed).
  using cloud_protocol::supply_scores;
  //! status engine_failed(status why)
  //! The engine cannot go on; the edge gets a refusal. A `why` that is ok counts as engine_failed.
  using cloud_protocol::engine_failed;

  // Outputs.

  //! session_output next(): the next output, `none` where there is none.
  using cloud_protocol::next;
  //! bool has_outputs(): `next` has more: every input is `busy`.
  using cloud_protocol::has_outputs;
  //! bool wants_rows()
  //! `evaluate` is unanswered; another one does not come before. Ask before the rows are supplied where the engine
  //! works while messages arrive.
  using cloud_protocol::wants_rows;
  //! bool wants_scores(): `score` is unanswered.
  using cloud_protocol::wants_scores;
  //! cloud_state state()
  using cloud_protocol::state;
  //! std::uint64_t session_id()
  using cloud_protocol::session_id;
  //! std::span<const token_id> text()
  using cloud_protocol::text;
  //! std::uint32_t length()
  using cloud_protocol::length;
  //! std::uint32_t prompt_length()
  using cloud_protocol::prompt_length;
  //! std::uint32_t round(), counts from 1
  using cloud_protocol::round;
  //! std::uint32_t keep_from()
  //! The lowest position that the target will still be cut to: committed length - 1. An engine that cannot cut its
  //! cache keeps a checkpoint there.
  using cloud_protocol::keep_from;
  //! std::uint32_t epoch(): of the edge
  using cloud_protocol::epoch;
  //! status refusal()
  //! Why this cloud refused the edge's session, as it told the edge: a hello that it does not take, or what failed
  //! here. Or why the edge gave up, as it told the cloud. ok: neither. Refused copies of damaged or unknown messages,
  //! which the edge sends again, are not meant.
  using cloud_protocol::refusal;
  //! const session_statistics& statistics()
  using cloud_protocol::statistics;
  //! const decided_round& last_round(): the last round that this process decided.
  using cloud_protocol::last_round;
  //! const channel_report& reported_channel()
  //! The state of its channel as the edge reported it with the open round's draft; zeros where the format has no
  //! report.
  using cloud_protocol::reported_channel;
  //! std::uint32_t draft_position()
  //! First position of the open round's drafts: the host's target states for `score` stand at the rows of supply_rows
  //! from here on.
  using cloud_protocol::draft_position;
  //! row_transform transform()
  //! Temperature and truncation that the edge's hello asks for. The session does not apply them: the text has the law
  //! of the rows with *their* transform. A host passes this one with its rows, or ends the session by `engine_failed`
  //! with invalid_temperature or invalid_truncation.
  using cloud_protocol::transform;

 private:
  cloud_session(const cloud_options& options, received_draft_block&& block);

  // detail/cloud_decide.hpp
  template <class Policy, class Rows>
  [[nodiscard]] status compare(Policy policy, const Rows& rows) noexcept;
  template <class Policy, class Rows>
  [[nodiscard]] result<verdict> decide(Policy policy, const Rows& rows) noexcept;

  untouched_memory<std::byte> verify_space_;
};

SPECVERIFY_NAMESPACE_END

#endif
