// SPDX-License-Identifier: Apache-2.0
//! Converts IEEE binary16 values in [0, 1] to exact integer multiples of 2^-24 and back, with operations on the bits.
#ifndef SPECVERIFY_CODEC_DETAIL_HALF_FLOAT_HPP
#define SPECVERIFY_CODEC_DETAIL_HALF_FLOAT_HPP

#include <specverify/config.hpp>
#include <specverify/cpp20.hpp>

#include <bit>
#include <cstdint>
#include <optional>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint32_t half_of_one = 0x3c00;  // larger patterns are above 1, infinite, NaN, or carry a sign

//! Returns value * 2^24; the pattern must be at most half_of_one.
[[nodiscard]] constexpr std::uint32_t half_to_count(std::uint32_t half) noexcept {
  const std::uint32_t exponent = half >> 10, fraction = half & 1023u;
  return exponent == 0 ? fraction : (1024u + fraction) << (exponent - 1);
}

//! Returns the pattern of count * 2^-24, or nothing if no binary16 value in [0, 1] equals it.
[[nodiscard]] constexpr std::optional<std::uint32_t> count_to_half(std::uint32_t count) noexcept {
  if (count > (std::uint32_t{1} << 24)) return std::nullopt;
  if (count < 1024) return count;
  const auto exponent = static_cast<std::uint32_t>(std::bit_width(count)) - 10;
  const std::uint32_t fraction = count >> (exponent - 1);
  if (fraction << (exponent - 1) != count) return std::nullopt;
  return (exponent << 10) | (fraction - 1024);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
