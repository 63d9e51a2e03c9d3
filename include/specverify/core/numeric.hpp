// SPDX-License-Identifier: Apache-2.0
//! Provides bit-level arithmetic (tests for NaN and infinity, half precision, little-endian bytes, wide products,
//! checksums) and a few functions of <cmath>.
//!
//! Use these functions under -ffast-math, because the compiler then removes `x != x` and `isnan`.
//! Guarantees: noexcept, no allocation, C++17 clean, bit-exact (except exp, exp2, log and log2). All functions except
//!             `fnv1a` and `count_below` are O(1).
//! See:        docs/algorithms/numeric.md, tests/unit/core/numeric_test.cpp
#ifndef SPECVERIFY_CORE_NUMERIC_HPP
#define SPECVERIFY_CORE_NUMERIC_HPP

#include <specverify/config.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! High and low 64 bits of a 64 x 64-bit product; needs no 128-bit type.
struct wide_product {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

[[nodiscard]] SPECVERIFY_HD constexpr wide_product multiply_wide(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
  const std::uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
  const std::uint64_t middle = (p00 >> 32) + (p01 & 0xFFFFFFFFu) + (p10 & 0xFFFFFFFFu);
  return {p11 + (p01 >> 32) + (p10 >> 32) + (middle >> 32), (middle << 32) | (p00 & 0xFFFFFFFFu)};
}

SPECVERIFY_NAMESPACE_END
SPECVERIFY_TYPES_BEGIN

//! A size whose sums and products saturate at 2^64 - 1 instead of wrapping around.
struct saturating {
  std::uint64_t value = 0;
  SPECVERIFY_INLINE constexpr saturating(std::uint64_t size) noexcept
      : value(size) {}  // implicit, so that sums need no casts

  friend SPECVERIFY_INLINE constexpr saturating operator+(saturating a, saturating b) noexcept {
    return a.value > ~b.value ? ~std::uint64_t{0} : a.value + b.value;
  }
  friend SPECVERIFY_INLINE constexpr saturating operator*(saturating a, saturating b) noexcept {
    return a.value != 0 && b.value > ~std::uint64_t{0} / a.value ? ~std::uint64_t{0} : a.value * b.value;
  }
  //! Returns the next multiple of `unit`; a unit of 0 counts as 1.
  [[nodiscard]] SPECVERIFY_INLINE constexpr saturating rounded_up(std::uint64_t unit) const noexcept {
    return unit <= 1 ? value : saturating(value / unit + (value % unit != 0 ? 1 : 0)) * unit;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace numeric {

// The functions of <cmath> that row kernels need. Including <cmath> would add a tenth of a second to every translation
// unit.
[[nodiscard]] SPECVERIFY_INLINE double exp(double x) noexcept { return __builtin_exp(x); }
[[nodiscard]] SPECVERIFY_INLINE double exp2(double x) noexcept { return __builtin_exp2(x); }
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double log(double x) noexcept { return __builtin_log(x); }
[[nodiscard]] SPECVERIFY_INLINE double log2(double x) noexcept { return __builtin_log2(x); }
[[nodiscard]] SPECVERIFY_INLINE double square_root(double x) noexcept { return __builtin_sqrt(x); }

//! Rounds a computed value, so that the compiler cannot fuse a product in it with a later sum.
template <class Value>
SPECVERIFY_INLINE void round_here([[maybe_unused]] Value& value) noexcept {
#if defined(__GNUC__) && defined(__x86_64__)
  __asm__("" : "+x"(value));
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__("" : "+w"(value));
#elif defined(__GNUC__) && defined(__s390x__)
  __asm__("" : "+f"(value));
#elif defined(__GNUC__)
  __asm__("" : "+m"(value));
#endif
}

template <std::size_t Size>
SPECVERIFY_INLINE void round_here([[maybe_unused]] float (&values)[Size]) noexcept {
#if defined(__GNUC__)
  __asm__("" : "+m"(values));
#endif
}

//! Returns a * b, rounded: the compiler cannot fuse it with a later sum, whatever its flags. Use it for states and
//! decisions that must be equal in two builds.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr double product(double a, double b) noexcept {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  double found = a * b;
  if (!__builtin_is_constant_evaluated()) round_here(found);
  return found;
#endif
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr float product(float a, float b) noexcept {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  float found = a * b;
  if (!__builtin_is_constant_evaluated()) round_here(found);
  return found;
#endif
}

//! Returns a sum rounded to float. The x87 FPU would otherwise keep more bits.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr float rounded(float sum) noexcept {
#if !defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) round_here(sum);
#endif
  return sum;
}

//! Returns the bits of `from` as another type of the same size.
template <class To, class From>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr To bits_as(From from) noexcept {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  return __builtin_bit_cast(To, from);
}

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_nan(float value) noexcept {
  return (bits_as<std::uint32_t>(value) << 1) > 0xFF000000u;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_nan(double value) noexcept {
  return (bits_as<std::uint64_t>(value) << 1) > 0xFFE0000000000000u;
}
//! Returns false for NaN and infinity.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_finite(float value) noexcept {
  return (bits_as<std::uint32_t>(value) << 1) < 0xFF000000u;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_finite(double value) noexcept {
  return (bits_as<std::uint64_t>(value) << 1) < 0xFFE0000000000000u;
}
//! Tests the sign bit, so -0 and negative NaNs count as negative.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_negative(float value) noexcept {
  return (bits_as<std::uint32_t>(value) >> 31) != 0;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_negative(double value) noexcept {
  return (bits_as<std::uint64_t>(value) >> 63) != 0;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_positive_infinity(float value) noexcept {
  return bits_as<std::uint32_t>(value) == 0x7F800000u;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_positive_infinity(double value) noexcept {
  return bits_as<std::uint64_t>(value) == 0x7FF0000000000000u;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_negative_infinity(float value) noexcept {
  return bits_as<std::uint32_t>(value) == 0xFF800000u;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_negative_infinity(double value) noexcept {
  return bits_as<std::uint64_t>(value) == 0xFFF0000000000000u;
}

//! Tests 0 <= value <= limit; false for NaN and for -0. `limit` must be finite and >= 0.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_within(double value, double limit) noexcept {
  return bits_as<std::uint64_t>(value) <= bits_as<std::uint64_t>(limit);
}
//! Tests 0 < value <= limit; false for NaN.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_positive_within(double value, double limit) noexcept {
  return bits_as<std::uint64_t>(value) - 1 < bits_as<std::uint64_t>(limit);
}

//! Returns how many of `size` ascending numbers are below `value`. The number of steps does not depend on `value`, so
//! that the threads of a GPU warp stay together. O(log size).
template <class Number>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint32_t count_below(const Number* numbers,
                                                                                  std::uint32_t size,
                                                                                  Number value) noexcept {
  std::uint32_t low = 0;
  for (std::uint32_t left = size; left != 0;) {
    const std::uint32_t half = (left + 1) / 2;
    low += numbers[low + half - 1] < value ? half : 0;
    left -= half;
  }
  return low;
}

// ---- IEEE binary16, as bits

inline constexpr std::uint32_t half_infinity = 0x7C00;

[[nodiscard]] SPECVERIFY_HD constexpr bool is_finite_half(std::uint32_t half) noexcept {
  return (half & half_infinity) != half_infinity;
}

//! Converts a finite binary16 pattern to binary32.
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t half_to_float_bits(std::uint32_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u;
  std::uint32_t fraction = half & 1023u;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  if (fraction == 0) return sign;
  std::uint32_t shift = 0;  // value = fraction * 2^-24, normalized to the form 1.x
  for (; fraction < 1024; fraction <<= 1) ++shift;
  return sign | (113 - shift) << 23 | (fraction & 1023u) << 13;
}

//! Rounds a finite binary32 pattern to the nearest binary16 pattern, ties to even. Returns half_infinity with the sign
//! if the value is too large.
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t float_bits_to_half(std::uint32_t bits) noexcept {
  const std::uint32_t sign = bits >> 16 & 0x8000u, exponent = bits >> 23 & 255u;
  if (exponent < 102) return sign;  // below 2^-25
  // The significand in units of the half's last place, which is 2^-24 for subnormals.
  const std::uint32_t significand = (bits & 0x7FFFFFu) | 0x800000u;
  const std::uint32_t shift = exponent < 113 ? 126 - exponent : 13;
  const std::uint32_t kept = significand >> shift, rest = significand & ((std::uint32_t{1} << shift) - 1),
                      tie = std::uint32_t{1} << (shift - 1);
  const std::uint32_t rounded = kept + (rest > tie || (rest == tie && (kept & 1u) != 0) ? 1 : 0);
  // A significand of 2^11 carries into the exponent, as it should.
  const std::uint32_t half = exponent < 113 ? rounded : ((exponent - 112) << 10) + rounded - 1024;
  return sign | (half < half_infinity ? half : half_infinity);
}

// ---- bytes

// Copies whole words on little-endian machines, because GCC 12 turns a loop over bytes into eight loads or stores.
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(__CUDA_ARCH__)
#define SPECVERIFY_COPIES_WORDS 1
#else
#define SPECVERIFY_COPIES_WORDS 0
#endif

//! Returns the little-endian number in the `bytes` bytes (1..8) at `at`.
template <class Byte>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint64_t load_le(const Byte* at, unsigned bytes) noexcept {
  std::uint64_t value = 0;
#if SPECVERIFY_COPIES_WORDS
  if (!__builtin_is_constant_evaluated()) {
    static_assert(sizeof(Byte) == 1);
    if (bytes == 8) {
      __builtin_memcpy(&value, at, 8);
      return value;
    }
    if (bytes == 4) {
      __builtin_memcpy(&value, at, 4);
      return value;
    }
  }
#endif
  for (unsigned i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(at[i]) << (8 * i);
  return value;
}
//! Writes the low `bytes` bytes (1..8) of `value` to `at`, little-endian.
SPECVERIFY_HD SPECVERIFY_INLINE constexpr void store_le(std::byte* at, std::uint64_t value, unsigned bytes) noexcept {
#if SPECVERIFY_COPIES_WORDS
  if (!__builtin_is_constant_evaluated()) {
    if (bytes == 8) {
      __builtin_memcpy(at, &value, 8);
      return;
    }
    if (bytes == 4) {
      __builtin_memcpy(at, &value, 4);
      return;
    }
  }
#endif
  for (unsigned i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>((value >> (8 * i)) & 0xFFu);
}

//! Returns the 64-bit FNV-1a hash of a range of std::byte. It detects accidents, but not forgeries. O(size).
template <class Bytes>
[[nodiscard]] constexpr std::uint64_t fnv1a(const Bytes& bytes) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;
  return hash;
}

}  // namespace numeric
SPECVERIFY_NAMESPACE_END

#endif
