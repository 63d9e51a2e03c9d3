// SPDX-License-Identifier: Apache-2.0
//! What a restarted session needs: the snapshot that a journal record of an edge or a cloud holds.
//!
//! Use it to look into a journal: `read_journal<Snapshot>(bytes, text)` gives the text and the last snapshot.
//! Guarantees: trivially copyable. A journal holds the members one by one, in the order of `journal_fields`, so that
//!             none of its bytes is padding; a sparsifier's state is copied as it stands in memory.
//! See:        docs/algorithms/journal.md, docs/session.md, tests/unit/session/snapshot_test.cpp
#ifndef SPECVERIFY_SESSION_SNAPSHOT_HPP
#define SPECVERIFY_SESSION_SNAPSHOT_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/random.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/session/detail/snapshot_fields.hpp>
#include <specverify/session/output.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! A wire_format as a journal holds it.
struct recorded_format {
  law_format format = law_format::sparse_drop_zero;
  std::uint32_t vocab_size = 0;
  std::uint32_t resolution = 0;
  std::uint32_t support_size = 0;
  std::uint32_t max_draft_length = 0;
  std::uint32_t pad_to = 1;
  attachment_format attachments{};

  SPECVERIFY_INLINE constexpr void hold(const wire_format& agreed) noexcept {
    format = agreed.format;
    vocab_size = agreed.vocab_size;
    resolution = agreed.resolution;
    support_size = agreed.support_size;
    max_draft_length = agreed.max_draft_length;
    pad_to = agreed.pad_to;
    attachments = agreed.attachments;
  }
  [[nodiscard]] SPECVERIFY_INLINE constexpr wire_format value() const noexcept {
    return {{format, resolution, support_size, max_draft_length, pad_to, attachments}, vocab_size};
  }
};

//! What a session's hello said: it holds as long as the session.
struct recorded_terms {
  recorded_format format{};
  std::uint64_t fingerprint_low = 0;
  std::uint64_t fingerprint_high = 0;
  double threshold = 0.5;    //!< of the semantic rule
  double temperature = 1.0;  //!< what the edge's hello asks for
  row_truncation truncation{};
  std::uint32_t token_budget = 0;
  std::uint32_t text_chunk = 0;  //!< of either side's text messages
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  bool bonus = true;
};

//! Of an edge, written with the ids before a round's first message; the same for every sparsifier.
struct edge_snapshot_head {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  observation seen{};
  channel_report channel{};
  philox_key draft_key{};
  recorded_terms terms{};
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  //! drafts before position carry_end have counters of this round: they were written ahead in it
  std::uint32_t carry_round = 0;
  std::uint32_t carry_end = 0;
  //! the part that the cloud has; the rest was committed here alone. prefix_hash is that of this part
  std::uint32_t base_length = 0;
  stop_reason stop = stop_reason::none;
  bool finished = false;       //!< and both sides have agreed on the end
  bool needs_no_more = false;  //!< the host ended the text with stop_cause::finished
  bool draw_from_row = false;
};

//! With what the edge's sparsifier learnt.
template <class SparsifierState>
struct edge_snapshot : edge_snapshot_head {
  SparsifierState sparsifier{};
};

//! Of a cloud, written with the ids before every answer.
struct cloud_snapshot {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  std::uint64_t target_hash = 0;
  std::uint64_t nonce = 0;      //!< of the last edge that came without a journal
  std::uint64_t kept_hash = 0;  //!< prefix of the kept verdict
  std::uint64_t salt = 0;       //!< of the key of the verdicts
  recorded_terms terms{};
  feedback_message kept{};       //!< the last verdict
  std::uint32_t kept_round = 0;  //!< 0: none
  std::uint32_t kept_base = 0;
  std::uint32_t kept_drafted = 0;
  std::uint32_t kept_skipped = 0;
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  std::uint32_t target_length = 0;
  std::uint32_t target_round = 0;
  stop_reason stop = stop_reason::none;
  std::uint8_t next_number = 0;
  std::uint8_t heard_number = 0;
  bool heard_any = false;
  bool handed_over = false;  //!< text beyond the prompt came from the edge, unverified
};

SPECVERIFY_TYPES_END

#endif
