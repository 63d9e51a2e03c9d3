// SPDX-License-Identifier: Apache-2.0
//! Holds the numbers from which a policy plans the next round.
//!
//! A session fills an observation from counters and from the host's measurements of the link, and stores it in the
//! journal. An observation contains no clock and no tokens, so lost connections do not change a policy's choices.
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605), the state of the adaptive policy.
//! Guarantees: trivially copyable, no allocation.
//! Cost:       O(1).
//! See:        docs/algorithms/window.md, tests/unit/policy/observation_test.cpp
#ifndef SPECVERIFY_POLICY_OBSERVATION_HPP
#define SPECVERIFY_POLICY_OBSERVATION_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/distribution/law.hpp>

#include <array>
#include <cstdint>

SPECVERIFY_TYPES_BEGIN

inline constexpr std::uint32_t observed_probabilities = 64;  //!< accepted drafts whose probability is kept
inline constexpr std::uint32_t observed_resolutions = 4;     //!< maximum number of resolutions with a mean acceptance

//! Exponential mean of the acceptance of the tested drafts of one resolution.
struct resolution_acceptance {
  std::uint32_t resolution = 0;  //!< l; 0: this entry is unused
  float mean = 0;                //!< in [0, 1]
  friend SPECVERIFY_INLINE constexpr bool operator==(const resolution_acceptance& a,
                                                     const resolution_acceptance& b) noexcept {
    return a.resolution == b.resolution && !(a.mean < b.mean) && !(b.mean < a.mean);
  }
};

struct observation {
  std::uint32_t round = 1;          //!< the round that is about to begin
  std::uint32_t position = 0;       //!< length of the committed prefix
  std::uint32_t last_drafted = 0;   //!< drafts of the previous round
  std::uint32_t last_accepted = 0;  //!< accepted drafts of the previous round
  std::uint64_t drafted = 0;        //!< over all rounds
  std::uint64_t accepted = 0;       //!< over all rounds
  //! bytes of all draft messages, with headers but without retransmissions
  std::uint64_t draft_bytes = 0;
  float uplink_rate = 0;           //!< bit/s, measured by the host; 0: unknown
  float downlink_rate = 0;         //!< bit/s; 0: unknown
  float round_trip = 0;            //!< s; 0: unknown
  float draft_time = 0;            //!< s per drafted token; 0: unknown
  std::uint32_t uplink_state = 0;  //!< state of a two-state link: 0 low, 1 high
  //! l of the previous round; 0: no lattice was used
  std::uint32_t last_resolution = 0;
  //! probability of each accepted token in the drafter's own distribution, newest last; zeros at the front if there are
  //! fewer than 64
  std::array<float, observed_probabilities> accepted_probability{};
  //! entries in the order of first use
  std::array<resolution_acceptance, observed_resolutions> acceptance{};
};

//! Plan of a window policy for one round.
struct draft_plan {
  std::uint32_t max_draft_length = 0;  //!< L; 0: no drafts
  std::uint32_t resolution = 0;        //!< l of the lattice, in [1, 2^16]; 0: the maximum
  std::uint32_t support_size = 0;      //!< K of the sparsifier; 0: the sparsifier's default

  friend SPECVERIFY_INLINE constexpr bool operator==(const draft_plan& a, const draft_plan& b) noexcept {
    return a.max_draft_length == b.max_draft_length && a.resolution == b.resolution && a.support_size == b.support_size;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

inline constexpr float acceptance_weight = 0.05f;  //!< weight of the newest tested draft in an acceptance mean
inline constexpr float acceptance_start = 0.8f;    //!< mean acceptance before the first draft
//! Number that replaces the resolution in `observation::acceptance` for drafts without a lattice.
inline constexpr std::uint32_t resolution_without_lattice = 1;

//! Returns the expected acceptance of a draft of this resolution: the mean of the nearest recorded resolution (the
//! smaller of two equally near), or `acceptance_start` if no resolution is recorded.
[[nodiscard]] constexpr float acceptance_of(const observation& seen, std::uint32_t resolution) noexcept {
  float mean = acceptance_start;
  std::uint32_t nearest = ~std::uint32_t{0}, of = 0;
  for (const resolution_acceptance& known : seen.acceptance) {
    if (known.resolution == 0) continue;
    const std::uint32_t distance =
        known.resolution > resolution ? known.resolution - resolution : resolution - known.resolution;
    if (distance > nearest || (distance == nearest && known.resolution > of)) continue;
    nearest = distance;
    of = known.resolution;
    mean = known.mean;
  }
  return mean;
}

//! Adds the tested drafts of a round to the mean of this resolution, each with the weight `acceptance_weight`. A fifth
//! resolution replaces the fourth. Resolution 0 means drafts without a lattice; they share the mean of
//! `resolution_without_lattice`. There, a draft has the weight max(0.01, 1 / (n + 5)), where n counts the earlier
//! accepted drafts and finished rounds.
constexpr void record_acceptance(observation& seen, std::uint32_t resolution, std::uint32_t drafted,
                                 std::uint32_t accepted) noexcept {
  if (drafted == 0) return;
  const bool has_lattice = resolution != 0;
  if (!has_lattice) resolution = resolution_without_lattice;
  std::uint32_t at = 0;
  while (at + 1 < observed_resolutions && seen.acceptance[at].resolution != resolution &&
         seen.acceptance[at].resolution != 0)
    ++at;
  resolution_acceptance& mean = seen.acceptance[at];
  if (mean.resolution != resolution) mean = {resolution, acceptance_of(seen, resolution)};
  std::uint64_t before = seen.accepted + seen.round + 4;  // the initial mean counts as five tests
  const auto take = [&](float outcome) {                  // each step is a float because journals store the mean
    const float weight = has_lattice ? acceptance_weight : 1.0f / static_cast<float>(before < 100 ? before : 100);
    const float move = numeric::product(weight, numeric::rounded(outcome - mean.mean));
    mean.mean = numeric::rounded(mean.mean + move);
    ++before;
  };
  for (std::uint32_t i = 0; i < accepted; ++i) take(1.0f);
  if (accepted < drafted) take(0.0f);
}

//! Records the probability of an accepted token, in [0, 1], in the drafter's own distribution before quantization. Must
//! be called in order of position.
constexpr void record_accepted(observation& seen, float probability) noexcept {
  for (std::uint32_t i = 0; i + 1 < observed_probabilities; ++i)
    seen.accepted_probability[i] = seen.accepted_probability[i + 1];
  seen.accepted_probability[observed_probabilities - 1] = probability;
}

//! Records a round after its verdict, so that the observation describes the next round. `emitted` is the number of
//! tokens that the round committed. `resolution` is l of the distributions, or 0 if they are not lattice points.
constexpr void record_round(observation& seen, std::uint32_t drafted, std::uint32_t accepted, std::uint32_t emitted,
                            std::uint64_t draft_bytes, std::uint32_t resolution = 0) noexcept {
  record_acceptance(seen, resolution, drafted, accepted);
  seen.last_resolution = resolution;
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
