// SPDX-License-Identifier: Apache-2.0
//! Provides packs of 64-bit integers with as many lanes as packs of doubles, and operations on them, such as products
//! and shifts by a vector. Also moves selected 32-bit integers to the front of a vector.
#ifndef SPECVERIFY_KERNEL_SIMD_WIDE_HPP
#define SPECVERIFY_KERNEL_SIMD_WIDE_HPP

#include <specverify/kernel/simd/pack.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

// 32 x 32 -> 64-bit products and shifts by a vector, for the integer weights. Without them the scalar kernel runs.
#if defined(__AVX512F__)
#define SPECVERIFY_WIDE_PRODUCTS 1
using wide_register = __m512i;
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
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_load(const std::uint64_t* from) noexcept {
  return _mm512_loadu_si512(from);
}
//! Returns the products of the low halves.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_product(wide_register a, wide_register b) noexcept {
  return _mm512_mul_epu32(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_xor(wide_register a, wide_register b, wide_register c) noexcept {
  return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_xor(wide_register a, wide_register b) noexcept {
  return _mm512_xor_si512(a, b);
}
//! Returns the smaller value for each half.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_smaller_halves(wide_register a, wide_register b) noexcept {
  return _mm512_min_epu32(a, b);
}
//! Returns which halves of a are at most the same half of b, as bits.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t wide_halves_within(wide_register a, wide_register b) noexcept {
  return _mm512_cmple_epu32_mask(a, b);
}
//! Returns the high halves as low halves, and leaves any bits in the high halves.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_high_halves(wide_register a) noexcept {
  return _mm512_shuffle_epi32(a, _MM_PERM_DDBB);
}
SPECVERIFY_INLINE void wide_store(std::uint64_t* to, wide_register value) noexcept { _mm512_storeu_si512(to, value); }
SPECVERIFY_INLINE void wide_store_low(std::uint32_t* to, wide_register value) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi64_epi32(value));
}
#if defined(__AVX512DQ__)
#define SPECVERIFY_WIDE_INTEGERS 1
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_from(const std::uint32_t* from) noexcept {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
//! Loads `count` integers, at most 8, and fills the remaining lanes with `filler`.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_load(const std::int64_t* from, std::uint32_t count,
                                                        std::int64_t filler) noexcept {
  const auto taken = static_cast<__mmask8>(count < 8 ? (1u << count) - 1u : 0xFFu);
  return _mm512_mask_loadu_epi64(_mm512_set1_epi64(filler), taken, from);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_product_64(wide_register a, wide_register b) noexcept {
  return _mm512_mullo_epi64(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE pack<double> wide_double(wide_register a) noexcept { return _mm512_cvtepi64_pd(a); }
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_truncated(const pack<double>& a) noexcept {
  return _mm512_cvttpd_epi64(a);
}
//! Returns a + 1 if rest >= bound, a - 1 if rest < 0, otherwise a.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_put_right(wide_register a, wide_register rest,
                                                             wide_register bound) noexcept {
  const wide_register one = _mm512_set1_epi64(1);
  a = _mm512_mask_add_epi64(a, _mm512_cmpge_epi64_mask(rest, bound), a, one);
  return _mm512_mask_sub_epi64(a, _mm512_movepi64_mask(rest), a, one);
}
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t wide_positive(wide_register a) noexcept {
  return lanes_of(_mm512_cmpgt_epi64_mask(a, _mm512_setzero_si512()));
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_larger(wide_register a, wide_register b) noexcept {
  return _mm512_max_epi64(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE std::int64_t wide_largest_lane(wide_register a) noexcept {
  return _mm512_reduce_max_epi64(a);
}
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t wide_equal(wide_register a, wide_register b) noexcept {
  return _mm512_cmpeq_epi64_mask(a, b);
}
#endif
#if defined(__AVX512IFMA__) && defined(__AVX512VBMI2__)
#define SPECVERIFY_PRODUCTS_OF_52_BITS 1
//! Returns bits 52 and up of the product of the low 52 bits of a and b.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_product_52(wide_register a, wide_register b) noexcept {
  return _mm512_madd52hi_epu64(_mm512_setzero_si512(), a, b);
}
//! Shifts right by the low 6 bits of each lane of `bits`.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_right_by_low_bits(wide_register a, wide_register bits) noexcept {
  return _mm512_shrdv_epi64(a, _mm512_setzero_si512(), bits);
}
//! Returns a with the lowest bit cleared in lanes with x < bound, and 0 in the other lanes.
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_even_below(wide_register a, const pack<double>& x,
                                                              double bound) noexcept {
  const __mmask8 below = _mm512_cmp_pd_mask(x, _mm512_set1_pd(bound), _CMP_LT_OQ);
  return _mm512_maskz_and_epi64(below, a, _mm512_set1_epi64(-2));
}
#endif
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
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_load(const std::uint64_t* from) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_product(wide_register a, wide_register b) noexcept {
  return _mm256_mul_epu32(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_xor(wide_register a, wide_register b, wide_register c) noexcept {
  return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_xor(wide_register a, wide_register b) noexcept {
  return _mm256_xor_si256(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_smaller_halves(wide_register a, wide_register b) noexcept {
  return _mm256_min_epu32(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t wide_halves_within(wide_register a, wide_register b) noexcept {
  const __m256i within = _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a);
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(within)));
}
[[nodiscard]] SPECVERIFY_INLINE wide_register wide_high_halves(wide_register a) noexcept {
  return _mm256_shuffle_epi32(a, 0xF5);
}
SPECVERIFY_INLINE void wide_store(std::uint64_t* to, wide_register value) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
SPECVERIFY_INLINE void wide_store_low(std::uint32_t* to, wide_register value) noexcept {
  const __m256i packed = _mm256_permutevar8x32_epi32(value, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
}
#else
#define SPECVERIFY_WIDE_PRODUCTS 0
#endif

#if defined(__AVX512VBMI2__)
#define SPECVERIFY_COMPRESSES_BYTES 1
//! Writes first + i for every set bit i of a mask, ascending; may write up to 16 further ids.
SPECVERIFY_INLINE void write_places(token_id* to, std::uint32_t first, std::uint64_t mask,
                                    std::uint32_t count) noexcept {
  const __m512i all = _mm512_set_epi64(0x3F3E3D3C3B3A3938, 0x3736353433323130, 0x2F2E2D2C2B2A2928, 0x2726252423222120,
                                       0x1F1E1D1C1B1A1918, 0x1716151413121110, 0x0F0E0D0C0B0A0908, 0x0706050403020100);
  const __m512i start = _mm512_set1_epi32(static_cast<int>(first)), places = _mm512_maskz_compress_epi8(mask, all);
  _mm512_storeu_si512(to, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(places)), start));
  if (count <= 16) return;
  alignas(64) std::uint8_t bytes[64];
  _mm512_store_si512(bytes, places);
  for (std::uint32_t i = 16; i < count; i += 16) {
    const __m128i part = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes + i));
    _mm512_storeu_si512(to + i, _mm512_add_epi32(_mm512_cvtepu8_epi32(part), start));
  }
}
#else
#define SPECVERIFY_COMPRESSES_BYTES 0
#endif

// `compressed` moves selected integers to the front of a register, by an instruction or by a table of permutations.
#if defined(__AVX512F__)
#define SPECVERIFY_COMPRESSES 1
inline constexpr std::uint32_t compressed_size = 16;
using narrow_register = __m512i;
[[nodiscard]] SPECVERIFY_INLINE narrow_register narrow_set(std::uint32_t value) noexcept {
  return _mm512_set1_epi32(static_cast<int>(value));
}
template <class Integer>
[[nodiscard]] SPECVERIFY_INLINE narrow_register narrow_load(const Integer* from) noexcept {
  return _mm512_loadu_si512(from);
}
template <class Integer>
SPECVERIFY_INLINE void narrow_store(Integer* to, narrow_register value) noexcept {
  _mm512_storeu_si512(to, value);
}
[[nodiscard]] SPECVERIFY_INLINE narrow_register narrow_add(narrow_register a, narrow_register b) noexcept {
  return _mm512_add_epi32(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t narrow_equal(narrow_register a, narrow_register b) noexcept {
  return _mm512_cmpeq_epu32_mask(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t narrow_reaching(narrow_register a, narrow_register b) noexcept {
  return _mm512_cmpge_epu32_mask(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE narrow_register compressed(narrow_register a, std::uint32_t mask) noexcept {
  return _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), a);
}
#elif defined(__AVX2__)
#define SPECVERIFY_COMPRESSES 1
inline constexpr std::uint32_t compressed_size = 8;
using narrow_register = __m256i;
[[nodiscard]] SPECVERIFY_INLINE narrow_register narrow_set(std::uint32_t value) noexcept {
  return _mm256_set1_epi32(static_cast<int>(value));
}
template <class Integer>
[[nodiscard]] SPECVERIFY_INLINE narrow_register narrow_load(const Integer* from) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
template <class Integer>
SPECVERIFY_INLINE void narrow_store(Integer* to, narrow_register value) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
[[nodiscard]] SPECVERIFY_INLINE narrow_register narrow_add(narrow_register a, narrow_register b) noexcept {
  return _mm256_add_epi32(a, b);
}
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t narrow_equal(narrow_register a, narrow_register b) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))));
}
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t narrow_reaching(narrow_register a, narrow_register b) noexcept {
  return narrow_equal(_mm256_max_epu32(a, b), a);
}
//! For every mask of 8 bits, the indices of the set lanes, one per byte.
struct lanes_of_masks {
  std::uint64_t lanes[256] = {};
  constexpr lanes_of_masks() noexcept {
    for (std::uint32_t mask = 0; mask < 256; ++mask) {
      std::uint32_t count = 0;
      for (std::uint64_t lane = 0; lane < 8; ++lane) {
        if (((mask >> lane) & 1u) != 0) lanes[mask] |= lane << 8 * count++;
      }
    }
  }
};
inline constexpr lanes_of_masks lanes_table;
[[nodiscard]] SPECVERIFY_INLINE narrow_register compressed(narrow_register a, std::uint32_t mask) noexcept {
  const __m128i lanes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lanes_table.lanes + mask));
  return _mm256_permutevar8x32_epi32(a, _mm256_cvtepu8_epi32(lanes));
}
#else
#define SPECVERIFY_COMPRESSES 0
#endif

#if SPECVERIFY_COMPRESSES
//! Writes first + i for every set bit i of a mask, ascending; may write up to compressed_size further ids.
SPECVERIFY_INLINE void write_compressed(token_id* to, std::uint32_t first, std::uint64_t mask) noexcept {
  constexpr std::uint32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const narrow_register step = narrow_set(compressed_size);
  narrow_register ids = narrow_add(narrow_load(lanes), narrow_set(first));
  for (std::uint32_t i = 0; i < 64; i += compressed_size) {
    const auto part = static_cast<std::uint32_t>(mask >> i) & ((std::uint32_t{1} << compressed_size) - 1);
    narrow_store(to, compressed(ids, part));
    to += lanes_of(part);
    ids = narrow_add(ids, step);
  }
}

//! Keeps, in place, the ids with weights above `weight`, and the first `ties` ids with exactly `weight`. Returns the
//! number kept. Does not process entries after the last whole register.
[[nodiscard]] inline std::uint32_t keep_above(token_id* ids, std::uint32_t* weights, std::uint32_t size,
                                              std::uint32_t weight, std::uint32_t& ties) noexcept {
  const narrow_register bound = narrow_set(weight);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i + compressed_size <= size; i += compressed_size) {
    const narrow_register weighed = narrow_load(weights + i), named = narrow_load(ids + i);
    std::uint32_t taken = narrow_reaching(weighed, bound), equal = narrow_equal(weighed, bound);
    for (; lanes_of(equal) > ties; equal ^= std::uint32_t{1} << highest_lane(equal))
      taken ^= std::uint32_t{1} << highest_lane(equal);
    ties -= lanes_of(equal);
    narrow_store(weights + kept, compressed(weighed, taken));  // the overwritten entries are already loaded
    narrow_store(ids + kept, compressed(named, taken));
    kept += lanes_of(taken);
  }
  return kept;
}
#endif

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif  // SPECVERIFY_WITH_SIMD
#endif
