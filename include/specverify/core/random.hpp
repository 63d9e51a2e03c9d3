// SPDX-License-Identifier: Apache-2.0
//! Generates random numbers with Philox4x32-10, a pure function of a counter and a key that returns 128 random bits.
//!
//! Paper:      Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011), Philox4x32-10.
//! Symbols:    counter words: position, round, lane, purpose (low 8 bits) | branch (high 24 bits). A key has 64 bits
//!             and is derived from a secret (core/secret.hpp).
//! Guarantees: constexpr, no allocation, C++17 clean, bit-exact on every backend. O(1).
//! See:        docs/algorithms/random.md, tests/unit/core/random_test.cpp
#ifndef SPECVERIFY_CORE_RANDOM_HPP
#define SPECVERIFY_CORE_RANDOM_HPP

#include <specverify/core/numeric.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! Uses of a random number. Streams with different purposes never share a counter.
enum class purpose : std::uint32_t {
  draft_draw = 0,
  acceptance = 1,
  residual_draw = 2,
  bonus_draw = 3,
  perturbation_temperature = 4,
  perturbed_draw = 5,
  coupling_noise = 6,
  policy_exploration = 7,
  channel = 8,
  training = 9,
  skip_coin = 10,
  thinning_proposal = 11,
  thinning_test = 12,
  relabel = 13,
  channel_state_sample = 14
};

//! Identifies one random number: absolute token position, round of the session, lane (trial or id / 4), purpose and
//! branch.
struct random_counter {
  std::uint32_t position = 0;
  std::uint32_t round = 0;
  std::uint32_t lane = 0;
  purpose use = purpose::draft_draw;
  std::uint32_t branch = 0;  //!< tree node or draft number, < 2^24

  friend SPECVERIFY_INLINE constexpr bool operator==(const random_counter& a, const random_counter& b) noexcept {
    return a.position == b.position && a.round == b.round && a.lane == b.lane && a.use == b.use && a.branch == b.branch;
  }
};

//! 128 random bits.
struct random_block {
  std::uint32_t word[4] = {0, 0, 0, 0};

  friend SPECVERIFY_INLINE constexpr bool operator==(const random_block& a, const random_block& b) noexcept {
    return a.word[0] == b.word[0] && a.word[1] == b.word[1] && a.word[2] == b.word[2] && a.word[3] == b.word[3];
  }
};

struct philox_key {
  std::uint32_t word[2] = {0, 0};

  friend SPECVERIFY_INLINE constexpr bool operator==(const philox_key& a, const philox_key& b) noexcept {
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

// The constants of Philox4x32: factors of the counter's words, and steps of the key from round to round.
inline constexpr std::uint32_t philox_multiplier_0 = 0xD2511F53u, philox_multiplier_1 = 0xCD9E8D57u;
inline constexpr std::uint32_t philox_increment_0 = 0x9E3779B9u, philox_increment_1 = 0xBB67AE85u;

//! Returns Philox4x32-10 of raw counter words.
[[nodiscard]] SPECVERIFY_HD constexpr random_block philox4x32(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                                                              std::uint32_t c3, philox_key key) noexcept {
  std::uint32_t k0 = key.word[0];
  std::uint32_t k1 = key.word[1];
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 1  // otherwise g++ unrolls the rounds wherever a token is drawn
#endif
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{philox_multiplier_0} * c0;
    const std::uint64_t product1 = std::uint64_t{philox_multiplier_1} * c2;
    const std::uint32_t next0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    const std::uint32_t next2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    c0 = next0;
    c2 = next2;
    k0 += philox_increment_0;
    k1 += philox_increment_1;
  }
  return {{c0, c1, c2, c3}};
}

//! The library's random source: Philox with a fixed key.
struct philox {
  philox_key key{};

  [[nodiscard]] SPECVERIFY_HD constexpr random_block operator()(random_counter counter) const noexcept {
    return philox4x32(counter.position, counter.round, counter.lane,
                      static_cast<std::uint32_t>(counter.use) | (counter.branch << 8), key);
  }
};

//! Returns a uniform number in [0, 1) with 53 bits. `half` 0 uses words 0 and 1 of the block, `half` 1 words 2 and 3.
[[nodiscard]] SPECVERIFY_HD constexpr double decision_uniform(const random_block& block, int half = 0) noexcept {
  const std::uint64_t bits = (std::uint64_t{block.word[2 * half]} << 32) | block.word[2 * half + 1];
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

//! Returns an unbiased integer in [0, bound), bound >= 1, from words 0 and 1 by multiplication and rejection. Retry r
//! uses lane + r. A number is rejected with a probability below bound / 2^64, at most 1/2. Retry 63 is never rejected,
//! so the bias is below 2^-63.
template <class Source>
[[nodiscard]] SPECVERIFY_HD constexpr std::uint64_t uniform_integer(const Source& source, random_counter counter,
                                                                    std::uint64_t bound) noexcept {
  const std::uint64_t threshold = (std::uint64_t{0} - bound) % bound;
  const std::uint32_t first_lane = counter.lane;
  for (std::uint32_t retry = 0;; ++retry) {
    counter.lane = first_lane + retry;
    const random_block block = source(counter);
    const wide_product product = multiply_wide((std::uint64_t{block.word[0]} << 32) | block.word[1], bound);
    if (product.low >= threshold || retry == 63) return product.high;
  }
}

SPECVERIFY_NAMESPACE_END

#endif
