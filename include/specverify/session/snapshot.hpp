// SPDX-License-Identifier: Apache-2.0
//! Defines snapshots: the state of an edge or a cloud in a journal record, from which a restarted session continues.
//!
//! To inspect a journal, call `read_journal<Snapshot>(bytes, text)`, which returns the text and the last snapshot.
//! Guarantees: trivially copyable. A journal holds the members in the order of `journal_fields`, without padding. A
//!             sparsifier's state is copied byte by byte.
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

//! Snapshot of an edge without the sparsifier's state. It is written with the prompt and with each group of committed
//! ids.
struct edge_snapshot_head {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  observation seen{};
  channel_report channel{};
  philox_key draft_key{};
  session_terms terms{};  //!< terms of the hello
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  //! round whose random numbers draw the drafts before position carry_end, because these tokens were written ahead in
  //! that round
  std::uint32_t carry_round = 0;
  std::uint32_t carry_end = 0;
  //! length of the prefix that the cloud also has; prefix_hash is the hash of this prefix. The edge committed the later
  //! tokens on its own
  std::uint32_t base_length = 0;
  stop_reason stop = stop_reason::none;
  bool finished = false;       //!< both sides have agreed on the end
  bool needs_no_more = false;  //!< the host ended the text with stop_cause::finished
};

//! Snapshot of an edge together with the state that its sparsifier has learned.
template <class SparsifierState>
struct edge_snapshot : edge_snapshot_head {
  SparsifierState sparsifier{};
};

//! The edge's text, if it is longer than the cloud's.
struct text_target {
  std::uint32_t length = 0;  //!< 0: no text is awaited
  std::uint64_t hash = 0;
  bool handed_over = false;  //!< the edge supplied text after the prompt, which this cloud has not verified
};

//! Snapshot of a cloud. It is written with the ids before each verdict is sent.
struct cloud_snapshot {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  std::uint64_t salt = 0;  //!< salt for the key of the verdicts
  session_terms terms{};   //!< terms in the edge's hello
  verdict_notice last{};   //!< the last verdict
  text_target target{};
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  stop_reason stop = stop_reason::none;
};

SPECVERIFY_TYPES_END

#endif
