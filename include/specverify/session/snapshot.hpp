// SPDX-License-Identifier: Apache-2.0
//! What a restarted session needs: the snapshot that a journal record of an edge or a cloud holds.
//!
//! Use it to look into a journal: `read_journal<Snapshot>(bytes, text)` gives the text and the last snapshot.
//! Guarantees: trivially copyable. A journal holds the members one by one, in the order of `journal_fields`, so that
//!             none of its bytes is padding; a sparsifier's state is copied as it stands in memory.
//! See:        docs/algorithms/journal.md, docs/session/journal.md, tests/unit/session/snapshot_test.cpp
#ifndef SPECVERIFY_SESSION_SNAPSHOT_HPP
#define SPECVERIFY_SESSION_SNAPSHOT_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/random.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/session/detail/record_fields.hpp>
#include <specverify/session/output.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! Of an edge, written with the ids before a round's first message; the same for every sparsifier.
struct edge_snapshot_head {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  observation seen{};
  channel_report channel{};
  philox_key draft_key{};
  session_terms terms{};  //!< of its hello
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
};

//! With what the edge's sparsifier learnt.
template <class SparsifierState>
struct edge_snapshot : edge_snapshot_head {
  SparsifierState sparsifier{};
};

//! The text that the edge has, if that is more.
struct text_target {
  std::uint32_t length = 0;  //!< 0: nothing is wanted
  std::uint64_t hash = 0;
  bool handed_over = false;  //!< text beyond the prompt came from the edge: nobody here verified it
};

//! Of a cloud, written with the ids before every verdict is sent.
struct cloud_snapshot {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  std::uint64_t salt = 0;  //!< of the key of the verdicts
  session_terms terms{};   //!< of the edge's hello
  verdict_notice last{};   //!< the last verdict
  text_target target{};
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  stop_reason stop = stop_reason::none;
};

SPECVERIFY_TYPES_END

#endif
