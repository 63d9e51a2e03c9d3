// SPDX-License-Identifier: Apache-2.0
//! Rounds a probability to the nearest fp16 value and returns this value as a count in units of 2^-24. Uses integers
//! (bit-exact), in CPU and GPU code.
#ifndef SPECVERIFY_KERNEL_SCALAR_HALF_COUNT_HPP
#define SPECVERIFY_KERNEL_SCALAR_HALF_COUNT_HPP

#include <specverify/core/numeric.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN

//! Returns 2^24 times the fp16 nearest to a probability in [0, 1], ties to even.
[[nodiscard]] SPECVERIFY_HD inline std::uint32_t half_count(double probability) noexcept {
  if (!(probability > 0.0)) return 0;
  if (probability >= 1.0) return std::uint32_t{1} << 24;
  const auto bits = numeric::bits_as<std::uint64_t>(probability);
  const int exponent = static_cast<int>(bits >> 52) - 1023;  // below 0
  if (exponent < -26) return 0;                              // below half of 2^-24
  const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  const int unit = exponent >= -14 ? exponent - 10 : -24;  // log2 of the spacing of fp16 here
  const int shift = 52 - exponent + unit;                  // 42, up to 54 for subnormals
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  std::uint64_t rounded = mantissa >> shift;
  const std::uint64_t rest = mantissa & ((std::uint64_t{1} << shift) - 1);
  if (rest > half || (rest == half && (rounded & 1u) != 0)) ++rounded;
  return static_cast<std::uint32_t>(rounded << (unit + 24));
}

SPECVERIFY_NAMESPACE_END

#endif
