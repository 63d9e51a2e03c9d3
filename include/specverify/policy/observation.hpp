// SPDX-License-Identifier: Apache-2.0
//! What a policy may look at when it decides about the next round: recorded numbers, never a clock and never a token.
//!
//! A session fills it from its own counters and from what the host recorded about the link, and keeps it in the journal, so a run with
//! faults and a run without choose alike.
//! Guarantees: trivially copyable, no allocation.
//! See:        docs/algorithms/window.md, tests/unit/policy/observation_test.cpp, examples/docs/window.cpp
#ifndef SPECVERIFY_POLICY_OBSERVATION_HPP
#define SPECVERIFY_POLICY_OBSERVATION_HPP

#include <specverify/distribution/law.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

struct observation {
  std::uint32_t round = 1;          //!< the round that is about to begin
  std::uint32_t position = 0;       //!< length of the committed prefix
  std::uint32_t last_drafted = 0;   //!< drafts of the round before
  std::uint32_t last_accepted = 0;  //!< how many of them were accepted
  std::uint64_t drafted = 0;        //!< over all rounds
  std::uint64_t accepted = 0;       //!< over all rounds
  std::uint64_t draft_bytes = 0;    //!< bytes of all draft messages, headers included, retries not
  float uplink_rate = 0;            //!< bit/s as recorded by the host; 0: unknown
  float downlink_rate = 0;          //!< bit/s; 0: unknown
  float round_trip = 0;             //!< s; 0: unknown
  float draft_time = 0;             //!< s per drafted token; 0: unknown
};

//! What a window policy asks of one round; itself the policy that asks the same of every round.
struct draft_plan {
  static constexpr bool unconditional = true;  //!< `proceed` is always true: nobody needs to count bits for it

  std::uint32_t max_draft_length = 4;  //!< L >= 1
  std::uint32_t resolution = 100;      //!< l of the lattice, in [1, 2^16]
  std::uint32_t support_size = 16;     //!< K of the sparsifier, >= 1

  [[nodiscard]] SPECVERIFY_INLINE constexpr draft_plan begin(const observation&) const noexcept { return {max_draft_length, resolution, support_size}; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
  friend SPECVERIFY_INLINE constexpr bool operator==(const draft_plan& a, const draft_plan& b) noexcept {
    return a.max_draft_length == b.max_draft_length && a.resolution == b.resolution && a.support_size == b.support_size;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Records a decided round: `observation` of round r becomes that of round r + 1. `emitted` = tokens committed by it.
constexpr void record_round(observation& seen, std::uint32_t drafted, std::uint32_t accepted, std::uint32_t emitted, std::uint64_t draft_bytes) noexcept {
  seen.round += 1;
  seen.position += emitted;
  seen.last_drafted = drafted;
  seen.last_accepted = accepted;
  seen.drafted += drafted;
  seen.accepted += accepted;
  seen.draft_bytes += draft_bytes;
}

SPECVERIFY_NAMESPACE_END

#endif
