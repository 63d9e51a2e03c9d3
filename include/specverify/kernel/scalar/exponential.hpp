// SPDX-License-Identifier: Apache-2.0
//! Computes exponentials in three ways (coarse with proven bounds, integer and exact), and the logarithm.
//!
//! coarse:  for x = (z - reference) / T, a float w with e^x (1 - 2^-16) <= w <= 1.0615 e^x (1 + 2^-16) if -69 <= x <=
//!          61, and 2^-100 if x < -69.4. Bit-exact, because a compiler cannot contract or reorder any step.
//! integer: for y = (maximum - z) / T >= 0, an integer w near 2^31 e^(-y), computed from y in units of 2^-26 octaves.
//!          The error is at most 1/2 + 2^-26 w; w is exactly 2^31 for y = 0 and never increases with y. Bit-exact.
//! exact:   e^x in double, relative error below 4 * 2^-53 for -700 <= x <= 700, and 0 below -700. Near-tie: backends
//!          can decide differently only at near ties.
#ifndef SPECVERIFY_KERNEL_SCALAR_EXPONENTIAL_HPP
#define SPECVERIFY_KERNEL_SCALAR_EXPONENTIAL_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/views.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

inline constexpr double log2_e = 1.4426950408889634074;

using numeric::bits_as;
using numeric::is_finite;
using numeric::is_nan;
using numeric::is_negative;
using numeric::is_negative_infinity;
using numeric::is_positive_infinity;
using numeric::product;

template <class Work>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE Work negative_infinity() noexcept {
  if constexpr (sizeof(Work) == 4) {
    return bits_as<Work>(std::uint32_t{0xFF800000u});
  } else {
    return bits_as<Work>(std::uint64_t{0xFFF0000000000000u});
  }
}

// ---- coarse

inline constexpr float coarse_scale_unit = 8388608.0f;          // 2^23
inline constexpr std::int32_t coarse_minimum = -100 * 8388608;  // the exponent of 2^-100
inline constexpr double coarse_floor = 0x1.0p-100;              // the smallest w; also the w of a forbidden id
inline constexpr std::int32_t coarse_bias = 127 << 23;
inline constexpr double coarse_excess = 1.0615;     // max over f in [0, 1] of (1 + f) / 2^f is 1.06148
inline constexpr double coarse_margin = 0x1.0p-15;  // covers the rounding of w and of a lane sum: below 1.7e-5
inline constexpr double coarse_range = 60.0;        // maximum distance of a reference below the maximum, in nats

//! Returns the number of octaves per logit at this temperature, in units of 2^-23. The result is never 0, so that
//! -infinity stays the smallest exponent at any temperature.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float coarse_scale(double temperature) noexcept {
  const double scale = 8388608.0 * log2_e / temperature;
  return SPECVERIFY_LIKELY(scale > 0x1.0p-126) ? static_cast<float>(scale) : 0x1.0p-126f;
}

//! Returns w, the coarse exponential of a difference z - reference. For differences above coarse_range * T, w is
//! positive but unspecified.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float coarse_exponential(float difference, float scale) noexcept {
  const float scaled = difference * scale;  // a NaN becomes the minimum
  const float above = scaled > static_cast<float>(coarse_minimum) ? scaled : static_cast<float>(coarse_minimum);
  const float kept = above < 1.0e9f ? above : 1.0e9f;
  return bits_as<float>(static_cast<std::int32_t>(kept) + coarse_bias);
}

//! Returns z - reference as a float. Double rows subtract in double and round once.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float coarse_difference(float value, float reference) noexcept {
  return value - reference;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float coarse_difference(double value, double reference) noexcept {
  const double difference = value - reference;
  return difference > -1.0e38 ? (difference < 1.0e38 ? static_cast<float>(difference) : 1.0e38f) : -1.0e38f;
}

//! Returns the envelope of a probability: p itself, but at least the smallest normal float if it is positive.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float coarse_probability(float value) noexcept {
  return value > 0.0f ? (value > 0x1.0p-126f ? value : 0x1.0p-126f) : 0.0f;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float coarse_probability(double value) noexcept {
  return value > 0.0 ? (value > 0x1.0p-126 ? static_cast<float>(value) : 0x1.0p-126f) : 0.0f;
}

// ---- integer

inline constexpr std::uint32_t weight_one = std::uint32_t{1} << 31;
inline constexpr int weight_fraction_bits = 26;

//! Returns 2^31 * 2^(-exponent / 2^26), rounded half up; 0 for exponents of 32 octaves or more.
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t integer_exponential(std::uint64_t exponent) noexcept {
  const std::uint64_t shift = exponent >> weight_fraction_bits;
  if (shift >= 32) return 0;
  // g in units of 2^-32; 2^-g = 1 - g (c1 - g (c2 - g (c3 - g (c4 - g (c5 - g c6))))), minimax on [0, 1], error 1.5e-9
  const std::uint64_t g = (exponent & ((std::uint64_t{1} << weight_fraction_bits) - 1)) << (32 - weight_fraction_bits);
  std::uint64_t sum = 472172u;
  sum = 5486705u - ((sum * g) >> 32);
  sum = 41155297u - ((sum * g) >> 32);
  sum = 238337602u - ((sum * g) >> 32);
  sum = 1031757278u - ((sum * g) >> 32);
  sum = 2977044080u - ((sum * g) >> 32);
  const std::uint64_t mantissa = (std::uint64_t{1} << 32) - ((sum * g) >> 32);  // in (2^31, 2^32]
  return static_cast<std::uint32_t>((mantissa + (std::uint64_t{1} << shift)) >> (shift + 1));
}

//! Returns the number of octaves per logit at this temperature, in units of 2^-26.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double weight_scale(double temperature) noexcept {
  return 67108864.0 * log2_e / temperature;
}

inline constexpr double weight_ceiling = 33.0 * 67108864.0;
// 1.5 * 2^52: adding it rounds to the nearest integer, ties to even
inline constexpr double round_to_integer = 6755399441055744.0;

//! Returns below * scale, rounded to an integer and at most weight_ceiling. `below`: maximum - z. Every backend must
//! subtract in this direction, because otherwise equal logits of a row would get different weights if a thread's
//! rounding mode is upward.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t weight_exponent(double below, double scale) noexcept {
  const double scaled = below * scale;
  const double kept = scaled < weight_ceiling ? scaled : weight_ceiling;
  return bits_as<std::uint64_t>(kept + round_to_integer) - std::uint64_t{0x4338000000000000u};
}

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t logit_weight(double value, double maximum,
                                                                         double scale) noexcept {
  return integer_exponential(weight_exponent(maximum - value, scale));
}

//! Returns 2^32 / maximum, the factor of `probability_weight`.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double probability_scale(double maximum) noexcept {
  return 4294967296.0 / maximum;
}

//! Returns 2^31 p / maximum, rounded half up.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t probability_weight(double value, double scale) noexcept {
  const auto doubled = static_cast<std::int64_t>(value * scale);
  const std::int64_t weight = (doubled + 1) >> 1;
  return weight > static_cast<std::int64_t>(weight_one) ? weight_one : static_cast<std::uint32_t>(weight);
}

// ---- exact

//! Returns e^x in double for -700 <= x <= 700, without a branch. With `Alone`, the bits are the same in every build.
//! Without it, a loop over this function can be vectorized, but the compiler may fuse products.
template <bool Alone = true>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double bounded_exponential(double bounded) noexcept {
  const auto times = [](double a, double b) { return Alone ? product(a, b) : a * b; };
  const double shifted = times(bounded, log2_e) + round_to_integer;
  const std::uint64_t octaves = bits_as<std::uint64_t>(shifted) - 0x4338000000000000u;
  const double whole = static_cast<double>(static_cast<std::int64_t>(octaves));
  // multiplied by 1, because under -ffast-math the compiler would add the two parts of log 2 first, and the second part
  // would be lost
  const double r = times(bounded - times(whole, 0x1.62e42fee00000p-1), 1.0) - times(whole, 0x1.a39ef35793c76p-33);
  double sum = 1.0 / 6227020800.0;
  sum = times(sum, r) + 1.0 / 479001600.0;
  sum = times(sum, r) + 1.0 / 39916800.0;
  sum = times(sum, r) + 1.0 / 3628800.0;
  sum = times(sum, r) + 1.0 / 362880.0;
  sum = times(sum, r) + 1.0 / 40320.0;
  sum = times(sum, r) + 1.0 / 5040.0;
  sum = times(sum, r) + 1.0 / 720.0;
  sum = times(sum, r) + 1.0 / 120.0;
  sum = times(sum, r) + 1.0 / 24.0;
  sum = times(sum, r) + 1.0 / 6.0;
  sum = times(sum, r) + 0.5;
  sum = times(sum, r) + 1.0;
  sum = times(sum, r) + 1.0;
  return times(sum, bits_as<double>((octaves + 1023u) << 52));
}

//! Returns e^x in double, 0 for x < -700 and e^700 for x > 700.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double exponential(double x) noexcept {
  return x >= -700.0 ? bounded_exponential(x < 700.0 ? x : 700.0) : 0.0;
}

//! Returns log x in double for finite x >= 2^-1022: x is 2^k m with m from 0.7 to 1.42, and log m = 2 atanh((m - 1) /
//! (m + 1)) as a series. Error below 2^-52 (|log x| + 2^-1).
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double logarithm(double x) noexcept {
  constexpr std::uint64_t lowest = 0x3FE6A09E00000000u;  // just below the root of 1/2
  const std::uint64_t bits = bits_as<std::uint64_t>(x);
  const std::int64_t octaves = static_cast<std::int64_t>(bits - lowest) >> 52;
  const double f = bits_as<double>(bits - (static_cast<std::uint64_t>(octaves) << 52)) - 1.0;
  const double s = f / (2.0 + f), z = product(s, s), k = static_cast<double>(octaves);
  double sum = 2.0 / 23.0;
  sum = product(sum, z) + 2.0 / 21.0;
  sum = product(sum, z) + 2.0 / 19.0;
  sum = product(sum, z) + 2.0 / 17.0;
  sum = product(sum, z) + 2.0 / 15.0;
  sum = product(sum, z) + 2.0 / 13.0;
  sum = product(sum, z) + 2.0 / 11.0;
  sum = product(sum, z) + 2.0 / 9.0;
  sum = product(sum, z) + 2.0 / 7.0;
  sum = product(sum, z) + 2.0 / 5.0;
  sum = product(sum, z) + 2.0 / 3.0;
  // log m = f - s (f - sum z)
  const double rest = product(s, f - product(sum, z)) - product(k, 0x1.a39ef35793c76p-33);
  return product(k, 0x1.62e42fee00000p-1) + (f - rest);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
