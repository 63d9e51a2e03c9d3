// SPDX-License-Identifier: Apache-2.0
//! Shared noise: a random time E > 0 for each position and token id. Both machines compute the same times.
//!
//! Use it when a device and a cloud must draw with the same random numbers. Each side has its own probabilities p_v,
//! and picks the id v with the smallest E_v / p_v (row/race.hpp). This id has the distribution p, and two similar
//! distributions usually give the same id.
//! Paper:      Daliri, Musco, Suresh: Coupling without communication and drafter-invariant speculative decoding
//!             (arXiv 2408.07978).
//! Symbols:    h = 64 bits for (key, position, id); E = -ln(1 - (h + 1/2) 2^-64), exponentially distributed, mean 1.
//! Arithmetic: the high half of h is word id mod 4 of Philox at {position, round 0, lane id / 4, coupling_noise}. The
//!             low half is the same word at lane id / 4 + 2^31. This header computes the logarithm by a series in
//!             double, so no mathematics library can change a token.
//! Guarantees: 0 < E < 45.06: never 0, never infinite. E does not depend on the round, so a device that drafts a
//!             position again gets the same noise. constexpr, no allocation, O(1); bit-exact, unless -ffast-math.
//! See:        docs/algorithms/noise.md, tests/unit/core/noise_test.cpp
#ifndef SPECVERIFY_CORE_NOISE_HPP
#define SPECVERIFY_CORE_NOISE_HPP

#include <specverify/core/random.hpp>
#include <specverify/core/views.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! The function that makes noise. The numbers are sent in `hello` and never change.
enum class noise_kind : std::uint8_t {
  none = 0,
  philox = 1  //!< 64 bits of Philox4x32-10 per id
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Returns 2 atanh(x) = ln((1 + x) / (1 - x)) for 0 <= x <= 1/3, relative error below 2^-50.
[[nodiscard]] SPECVERIFY_HD constexpr double twice_atanh(double x) noexcept {
  const double square = numeric::product(x, x);
  double sum = 0;
  for (int odd = 35; odd > 1; odd -= 2) sum = numeric::product(sum + 1.0 / odd, square);
  return 2.0 * (x + numeric::product(x, sum));
}

//! Returns -ln(1 - (bits + 1/2) 2^-64): small for small `bits`, below 45.06.
[[nodiscard]] SPECVERIFY_HD constexpr double exponential_time(std::uint64_t bits) noexcept {
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  if (bits < half) {  // -ln(1 - t) = 2 atanh(t / (2 - t)), t <= 1/2
    const double t = (static_cast<double>(bits) + 0.5) * 0x1.0p-64;
    return twice_atanh(t / (2.0 - t));
  }
  // s = 1 - t, which has fewer and fewer bits towards 0: s = m 2^-k with 1/2 < m <= 1, and -ln s = k ln 2 - ln m
  const double s = static_cast<double>(~bits) + 0.5;  // in units of 2^-64
  double m = s * 0x1.0p-64;
  int k = 0;
  for (; m <= 0.5; m *= 2.0) ++k;
  return numeric::product(static_cast<double>(k), 0.69314718055994530942) + twice_atanh((1.0 - m) / (1.0 + m));
}

}  // namespace detail

//! The noise of one session.
struct coupling_noise {
  noise_kind kind = noise_kind::philox;
  std::uint64_t key = 0;

  //! Returns the high halves of h for the ids 4 * `group` .. 4 * `group` + 3.
  [[nodiscard]] SPECVERIFY_HD constexpr random_block high_words(std::uint32_t position,
                                                                std::uint32_t group) const noexcept {
    return words(position, group);
  }
  //! Returns E of an id, given the high half of h.
  [[nodiscard]] SPECVERIFY_HD constexpr double time_of(std::uint32_t position, std::uint32_t id,
                                                       std::uint32_t high) const noexcept {
    const std::uint32_t low = words(position, id / 4 | std::uint32_t{1} << 31).word[id % 4];
    return detail::exponential_time(std::uint64_t{high} << 32 | low);
  }
  //! Returns E of an id, 0 <= id < 2^31.
  [[nodiscard]] SPECVERIFY_HD constexpr double time(std::uint32_t position, token_id id) const noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    return time_of(position, index, high_words(position, index / 4).word[index % 4]);
  }
  [[nodiscard]] SPECVERIFY_HD constexpr philox_key philox_words() const noexcept {
    return {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  }

  friend SPECVERIFY_INLINE constexpr bool operator==(const coupling_noise& a, const coupling_noise& b) noexcept {
    return a.kind == b.kind && a.key == b.key;
  }

 private:
  [[nodiscard]] SPECVERIFY_HD constexpr random_block words(std::uint32_t position, std::uint32_t lane) const noexcept {
    return philox4x32(position, 0, lane, static_cast<std::uint32_t>(purpose::coupling_noise), philox_words());
  }
};

SPECVERIFY_NAMESPACE_END

#endif
