// SPDX-License-Identifier: Apache-2.0
//! The edge's half of a journal record.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_SNAPSHOT_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_SNAPSHOT_HPP

#include <specverify/codec/draft_attachments.hpp>
#include <specverify/core/random.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! What a restarted edge needs, written with the ids before a round's first message.
template <class SparsifierState>
struct edge_snapshot {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  observation seen{};
  channel_report channel{};
  philox_key draft_key{};
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  //! drafts before position carry_end have counters of this round: they were written ahead in it
  std::uint32_t carry_round = 0;
  std::uint32_t carry_end = 0;
  //! of it the cloud has; the rest was committed here alone. prefix_hash is of this part
  std::uint32_t base_length = 0;
  stop_reason stop = stop_reason::none;
  bool finished = false;
  SparsifierState sparsifier{};
};

SPECVERIFY_TYPES_END

#endif
