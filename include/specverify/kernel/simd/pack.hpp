// SPDX-License-Identifier: Apache-2.0
//! The vector layer: the only file that includes xsimd or names an instruction.
//!
//! A pack is xsimd's batch of the widest instruction set of this translation unit. What xsimd 8.1 lacks (bit masks of
//! comparisons, 32 x 32 -> 64 products, shifts by a vector) stands here, with a plain loop where an instruction set has
//! none.
#ifndef SPECVERIFY_KERNEL_SIMD_PACK_HPP
#define SPECVERIFY_KERNEL_SIMD_PACK_HPP

#include <specverify/config.hpp>

#if SPECVERIFY_WITH_XSIMD

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#elif defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wconversion"
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshadow"
#endif

#include <xsimd/xsimd.hpp>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#elif defined(__clang__)
#pragma clang diagnostic pop
#endif

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

template <class Element>
using pack = xsimd::batch<Element>;

template <class Element>
inline constexpr std::uint32_t pack_size = static_cast<std::uint32_t>(pack<Element>::size);

template <class Element>
using signed_of = std::conditional_t<sizeof(Element) == 4, std::int32_t, std::int64_t>;

template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> load_pack(const Element* from) noexcept {
  return pack<Element>::load_unaligned(from);
}
template <class Element>
SPECVERIFY_INLINE void store_pack(Element* to, const pack<Element>& value) noexcept {
  value.store_unaligned(to);
}

//! The same bits as integers, and back.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<signed_of<Element>> integer_bits(const pack<Element>& value) noexcept {
#if XSIMD_VERSION_MAJOR >= 9
  return xsimd::bitwise_cast<signed_of<Element>>(value);
#else
  return xsimd::bitwise_cast<pack<signed_of<Element>>>(value);
#endif
}
[[nodiscard]] SPECVERIFY_INLINE pack<float> float_bits(const pack<std::int32_t>& value) noexcept {
#if XSIMD_VERSION_MAJOR >= 9
  return xsimd::bitwise_cast<float>(value);
#else
  return xsimd::bitwise_cast<pack<float>>(value);
#endif
}
[[nodiscard]] SPECVERIFY_INLINE pack<double> double_bits(const pack<std::int64_t>& value) noexcept {
#if XSIMD_VERSION_MAJOR >= 9
  return xsimd::bitwise_cast<double>(value);
#else
  return xsimd::bitwise_cast<pack<double>>(value);
#endif
}

//! Truncation towards zero. A float outside the range of int32 gives an unspecified integer.
[[nodiscard]] SPECVERIFY_INLINE pack<std::int32_t> truncated(const pack<float>& value) noexcept {
  return xsimd::to_int(value);
}

template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> larger(const pack<Element>& a, const pack<Element>& b) noexcept {
  return xsimd::max(a, b);
}
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> smaller(const pack<Element>& a, const pack<Element>& b) noexcept {
  return xsimd::min(a, b);
}

//! Bit i of the result: lane i compares true.
template <class Element, class Arch>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t mask_of(const xsimd::batch_bool<Element, Arch>& truth) noexcept {
  bool lanes[xsimd::batch<Element, Arch>::size];
  truth.store_unaligned(lanes);
  std::uint32_t mask = 0;
  for (std::uint32_t i = 0; i < xsimd::batch<Element, Arch>::size; ++i)
    mask |= static_cast<std::uint32_t>(lanes[i]) << i;
  return mask;
}

//! The lowest lane of a mask that is not 0.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t lowest_lane(std::uint32_t mask) noexcept {
#if defined(__GNUC__)
  return static_cast<std::uint32_t>(__builtin_ctz(mask));
#else
  std::uint32_t lane = 0;
  for (; (mask & 1u) == 0; mask >>= 1) ++lane;
  return lane;
#endif
}

//! Lanes of `values` that are >= `bar`, as bits.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t at_least(const pack<Element>& values, const pack<Element>& bar) noexcept {
#if defined(__AVX512F__)
  if constexpr (sizeof(Element) == 4) {
    return _mm512_cmp_ps_mask(values, bar, _CMP_GE_OQ);
  } else {
    return _mm512_cmp_pd_mask(values, bar, _CMP_GE_OQ);
  }
#elif defined(__AVX__)
  if constexpr (sizeof(Element) == 4) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(values, bar, _CMP_GE_OQ)));
  } else {
    return static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_cmp_pd(values, bar, _CMP_GE_OQ)));
  }
#elif defined(__SSE2__)
  if constexpr (sizeof(Element) == 4) {
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmpge_ps(values, bar)));
  } else {
    return static_cast<std::uint32_t>(_mm_movemask_pd(_mm_cmpge_pd(values, bar)));
  }
#else
  return mask_of(values >= bar);
#endif
}

template <class Element>
[[nodiscard]] SPECVERIFY_INLINE Element largest_lane(const pack<Element>& value) noexcept {
  Element lanes[pack<Element>::size];
  store_pack(lanes, value);
  Element best = lanes[0];
  for (std::uint32_t i = 1; i < pack_size<Element>; ++i) best = lanes[i] > best ? lanes[i] : best;
  return best;
}

// 32 x 32 -> 64 products and shifts by a vector, for the integer weights. Without them the scalar kernel runs.
#if defined(__AVX512F__)
#define SPECVERIFY_WIDE_PRODUCTS 1
using wide_register = __m512i;
using wide_source = __m512d;
inline constexpr std::uint32_t wide_size = 8;
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_set(std::uint64_t value) noexcept {
  return _mm512_set1_epi64(static_cast<long long>(value));
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_product_high(wide_register a, wide_register b) noexcept {
  return _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_add(wide_register a, wide_register b) noexcept {
  return _mm512_add_epi64(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_subtract(wide_register a, wide_register b) noexcept {
  return _mm512_sub_epi64(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_and(wide_register a, wide_register b) noexcept {
  return _mm512_and_si512(a, b);
}
template <int Bits>
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_right(wide_register a) noexcept {
  return _mm512_srli_epi64(a, Bits);
}
template <int Bits>
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_left(wide_register a) noexcept {
  return _mm512_slli_epi64(a, Bits);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_right_by(wide_register a, wide_register bits) noexcept {
  return _mm512_srlv_epi64(a, bits);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_left_by(wide_register a, wide_register bits) noexcept {
  return _mm512_sllv_epi64(a, bits);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_bits(const pack<double>& value) noexcept {
  return _mm512_castpd_si512(value);
}
SPECVERIFY_INLINE void wide_store(std::uint64_t* to, wide_register value) noexcept { _mm512_storeu_si512(to, value); }
SPECVERIFY_INLINE void wide_store_low(std::uint32_t* to, wide_register value) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi64_epi32(value));
}
[[nodiscard]] SPECVERIFY_INLINE pack<double> widened(const float* from) noexcept {
  return _mm512_cvtps_pd(_mm256_loadu_ps(from));
}
#elif defined(__AVX2__)
#define SPECVERIFY_WIDE_PRODUCTS 1
using wide_register = __m256i;
inline constexpr std::uint32_t wide_size = 4;
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_set(std::uint64_t value) noexcept {
  return _mm256_set1_epi64x(static_cast<long long>(value));
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_product_high(wide_register a, wide_register b) noexcept {
  return _mm256_srli_epi64(_mm256_mul_epu32(a, b), 32);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_add(wide_register a, wide_register b) noexcept {
  return _mm256_add_epi64(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_subtract(wide_register a, wide_register b) noexcept {
  return _mm256_sub_epi64(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_and(wide_register a, wide_register b) noexcept {
  return _mm256_and_si256(a, b);
}
template <int Bits>
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_right(wide_register a) noexcept {
  return _mm256_srli_epi64(a, Bits);
}
template <int Bits>
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_left(wide_register a) noexcept {
  return _mm256_slli_epi64(a, Bits);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_right_by(wide_register a, wide_register bits) noexcept {
  return _mm256_srlv_epi64(a, bits);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_left_by(wide_register a, wide_register bits) noexcept {
  return _mm256_sllv_epi64(a, bits);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_bits(const pack<double>& value) noexcept {
  return _mm256_castpd_si256(value);
}
SPECVERIFY_INLINE void wide_store(std::uint64_t* to, wide_register value) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
SPECVERIFY_INLINE void wide_store_low(std::uint32_t* to, wide_register value) noexcept {
  const __m256i packed = _mm256_permutevar8x32_epi32(value, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
}
[[nodiscard]] SPECVERIFY_INLINE pack<double> widened(const float* from) noexcept {
  return _mm256_cvtps_pd(_mm_loadu_ps(from));
}
#else
#define SPECVERIFY_WIDE_PRODUCTS 0
[[nodiscard]] SPECVERIFY_INLINE pack<double> widened(const float* from) noexcept {
  double values[pack<double>::size];
  for (std::uint32_t i = 0; i < pack_size<double>; ++i) values[i] = static_cast<double>(from[i]);
  return load_pack(values);
}
#endif
[[nodiscard]] SPECVERIFY_INLINE pack<double> widened(const double* from) noexcept { return load_pack(from); }

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif  // SPECVERIFY_WITH_XSIMD
#endif
