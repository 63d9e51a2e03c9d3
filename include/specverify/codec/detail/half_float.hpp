// SPDX-License-Identifier: Apache-2.0
//! IEEE binary16: values in [0, 1] as integer counts of 2^-24, exactly, and any finite value to and from binary32, by
//! bit patterns. Used by codec/message.hpp (a law as a half-float row), codec/hidden_code.hpp and codec/draft_side.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_HALF_FLOAT_HPP
#define SPECVERIFY_CODEC_DETAIL_HALF_FLOAT_HPP

#include <specverify/config.hpp>

#include <bit>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint32_t half_of_one = 0x3c00;  // larger patterns are above 1, infinite, NaN, or carry a sign
inline constexpr std::uint32_t half_infinity = 0x7c00;

//! value * 2^24 for a pattern of at most half_of_one.
[[nodiscard]] constexpr std::uint32_t half_to_count(std::uint32_t half) noexcept {
  const std::uint32_t exponent = half >> 10, fraction = half & 1023u;
  return exponent == 0 ? fraction : (1024u + fraction) << (exponent - 1);
}

//! The pattern of count * 2^-24; false when no binary16 value in [0, 1] is that.
[[nodiscard]] constexpr bool count_to_half(std::uint32_t count, std::uint32_t& half) noexcept {
  if (count > (std::uint32_t{1} << 24)) return false;
  if (count < 1024) {
    half = count;
    return true;
  }
  const auto exponent = static_cast<std::uint32_t>(std::bit_width(count)) - 10;
  const std::uint32_t fraction = count >> (exponent - 1);
  half = (exponent << 10) | (fraction - 1024);
  return fraction << (exponent - 1) == count;
}

[[nodiscard]] constexpr bool is_finite_half(std::uint32_t half) noexcept {
  return (half & half_infinity) != half_infinity;
}
[[nodiscard]] constexpr bool is_finite_float(std::uint32_t bits) noexcept {
  return (bits & 0x7f800000u) != 0x7f800000u;
}

//! The binary32 pattern of a finite binary16 pattern.
[[nodiscard]] constexpr std::uint32_t half_to_float_bits(std::uint32_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 1023u;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  if (fraction == 0) return sign;
  const auto width = static_cast<std::uint32_t>(std::bit_width(fraction));  // value = fraction * 2^-24
  return sign | (width + 102) << 23 | ((fraction << (24 - width)) & 0x7fffffu);
}

//! The nearest binary16 pattern of a finite binary32 pattern, ties to even; half_infinity (with the sign) when it is
//! too large.
[[nodiscard]] constexpr std::uint32_t float_bits_to_half(std::uint32_t bits) noexcept {
  const std::uint32_t sign = bits >> 16 & 0x8000u, exponent = bits >> 23 & 255u;
  if (exponent < 102) return sign;  // below 2^-25
  // The significand in units of the last place of the half; that of subnormals is 2^-24.
  const std::uint32_t significand = (bits & 0x7fffffu) | 0x800000u;
  const std::uint32_t shift = exponent < 113 ? 126 - exponent : 13;
  const std::uint32_t kept = significand >> shift, rest = significand & ((std::uint32_t{1} << shift) - 1),
                      tie = std::uint32_t{1} << (shift - 1);
  const std::uint32_t rounded = kept + (rest > tie || (rest == tie && (kept & 1u) != 0) ? 1 : 0);
  // A significand of 2^11 carries into the exponent by itself.
  const std::uint32_t half = exponent < 113 ? rounded : ((exponent - 112) << 10) + rounded - 1024;
  return sign | (half < half_infinity ? half : half_infinity);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
