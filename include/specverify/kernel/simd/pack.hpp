// SPDX-License-Identifier: Apache-2.0
//! Provides portable vector types (packs) and their operations.
//!
//! A pack is xsimd's batch for the widest instruction set of this translation unit or, without xsimd, the compiler's
//! vector type. This file adds operations that neither type has, for example sums of lanes in a fixed order. In this
//! folder, only this file, powers.hpp, wide.hpp and vector_pack.hpp may name instructions of a CPU.
#ifndef SPECVERIFY_KERNEL_SIMD_PACK_HPP
#define SPECVERIFY_KERNEL_SIMD_PACK_HPP

#include <specverify/config.hpp>

#if SPECVERIFY_WITH_SIMD

#if SPECVERIFY_WITH_XSIMD
#include <specverify/kernel/simd/xsimd_pack.hpp>
#else
#include <specverify/kernel/simd/vector_pack.hpp>
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

template <class Element>
inline constexpr std::uint32_t pack_size = static_cast<std::uint32_t>(pack<Element>::size);

//! Loads a pack of stored values as floats.
template <class Stored>
[[nodiscard]] SPECVERIFY_INLINE pack<float> widened_lanes(const Stored* from) noexcept {
  float values[pack<float>::size];
  for (std::uint32_t i = 0; i < pack_size<float>; ++i) values[i] = to_working(from[i]);
  return load_pack(static_cast<const float*>(values));
}
[[nodiscard]] SPECVERIFY_INLINE pack<float> load_pack(const bfloat16_bits* from) noexcept {
#if defined(__AVX512VBMI__)  // two bytes to the upper half of each lane, in one step
  const __m512i bits = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  const __m512i bytes =
      _mm512_setr_epi32(0x01000000, 0x03020000, 0x05040000, 0x07060000, 0x09080000, 0x0B0A0000, 0x0D0C0000, 0x0F0E0000,
                        0x11100000, 0x13120000, 0x15140000, 0x17160000, 0x19180000, 0x1B1A0000, 0x1D1C0000, 0x1F1E0000);
  return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi8(0xCCCCCCCCCCCCCCCCu, bytes, bits));
#elif defined(__AVX512F__)
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
#elif defined(__AVX2__)
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#else
  return widened_lanes(from);
#endif
}
[[nodiscard]] SPECVERIFY_INLINE pack<float> load_pack(const float16_bits* from) noexcept {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__AVX__) && defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
  return widened_lanes(from);
#endif
}

//! Loads sixteen values in an arbitrary order, which `order_sixteen` restores to memory order.
template <class Stored>
SPECVERIFY_INLINE void load_sixteen(const Stored* from, pack<float>* lanes) noexcept {
  for (std::uint32_t i = 0; i < 16; i += pack_size<float>) lanes[i / pack_size<float>] = load_pack(from + i);
}
#if defined(__AVX2__) && !defined(__AVX512F__)
//! Loads the even values by a shift, and the odd values by a mask.
SPECVERIFY_INLINE void load_sixteen(const bfloat16_bits* from, pack<float>* lanes) noexcept {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  lanes[0] = _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
  lanes[1] = _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(static_cast<std::int32_t>(0xFFFF0000u))));
}
#endif
template <class Stored>
SPECVERIFY_INLINE void order_sixteen([[maybe_unused]] pack<float>* lanes) noexcept {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if constexpr (std::is_same_v<Stored, bfloat16_bits>) {
    const __m256 low = _mm256_unpacklo_ps(lanes[0], lanes[1]), high = _mm256_unpackhi_ps(lanes[0], lanes[1]);
    lanes[0] = _mm256_permute2f128_ps(low, high, 0x20);
    lanes[1] = _mm256_permute2f128_ps(low, high, 0x31);
  }
#endif
}

//! Returns a | b | c, in one instruction if possible.
[[nodiscard]] SPECVERIFY_INLINE pack<std::int32_t> merged(const pack<std::int32_t>& a, const pack<std::int32_t>& b,
                                                          const pack<std::int32_t>& c) noexcept {
#if defined(__AVX512F__) && SPECVERIFY_WITH_XSIMD
  return _mm512_ternarylogic_epi32(a, b, c, 0xFE);
#else
  return a | b | c;
#endif
}

//! Returns the number of set bits in a mask.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t lanes_of(std::uint64_t mask) noexcept {
#if defined(__GNUC__) && (defined(__POPCNT__) || !defined(__x86_64__))
  return static_cast<std::uint32_t>(__builtin_popcountll(mask));
#else  // because g++ would call a function
  mask -= (mask >> 1) & 0x5555555555555555u;
  mask = (mask & 0x3333333333333333u) + ((mask >> 2) & 0x3333333333333333u);
  mask = (mask + (mask >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<std::uint32_t>((mask * 0x0101010101010101u) >> 56);
#endif
}

//! Returns the lowest lane of a mask that is not 0.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t lowest_lane(std::uint64_t mask) noexcept {
#if defined(__GNUC__)
  return static_cast<std::uint32_t>(__builtin_ctzll(mask));
#else
  std::uint32_t lane = 0;
  for (; (mask & 1u) == 0; mask >>= 1) ++lane;
  return lane;
#endif
}

//! Returns the highest lane of a mask that is not 0.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t highest_lane(std::uint64_t mask) noexcept {
#if defined(__GNUC__)
  return 63u - static_cast<std::uint32_t>(__builtin_clzll(mask));
#else
  std::uint32_t lane = 63;
  while ((mask >> lane) == 0) --lane;
  return lane;
#endif
}

//! Returns which lanes of `values` are >= `bar`, as bits.
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

//! Sets bit i % 64 of words[i / 64] if values[i] is at least `bar`, for `size` values; `size` must be a multiple of 64.
SPECVERIFY_INLINE void write_masks(const float* values, std::uint32_t size, const pack<float>& bar,
                                   std::uint64_t* words) noexcept {
  for (std::uint32_t part = 0; part < size; part += 64) {
#if defined(__AVX512F__)
    __mmask16 masks[4];  // kept in memory, to avoid integer registers
    for (std::uint32_t i = 0; i < 4; ++i)
      masks[i] = _mm512_cmp_ps_mask(_mm512_loadu_ps(values + part + 16 * i), bar, _CMP_GE_OQ);
    std::memcpy(words + part / 64, masks, sizeof(masks));
#else
    std::uint64_t mask = 0;
    for (std::uint32_t i = 0; i < 64; i += pack_size<float>)
      mask |= static_cast<std::uint64_t>(at_least(load_pack(values + part + i), bar)) << i;
    words[part / 64] = mask;
#endif
  }
}

//! Returns the sum of the lanes of a pack of counters.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t lanes_sum(const pack<std::int32_t>& counts) noexcept {
  std::int32_t lanes[pack_size<std::int32_t>], sum = 0;
  store_pack(lanes, counts);
  for (const std::int32_t lane : lanes) sum += lane;
  return static_cast<std::uint32_t>(sum);
}

//! Returns how many of `size` values are at least `bar`; `size` must be a multiple of 16.
[[nodiscard]] inline std::uint32_t count_at_least(const float* values, std::uint32_t size, float bar) noexcept {
  const pack<float> least(bar);
#if defined(__POPCNT__)
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < size; i += pack_size<float>) count += lanes_of(at_least(load_pack(values + i), least));
  return count;
#else
  const pack<float> one = float_bits(pack<std::int32_t>(1)), none = float_bits(pack<std::int32_t>(0));
  pack<std::int32_t> counts(0);
  for (std::uint32_t i = 0; i < size; i += pack_size<float>)
    counts += integer_bits(chosen(load_pack(values + i) >= least, one, none));
  return lanes_sum(counts);
#endif
}

//! Loads as many values as a pack of doubles holds, as doubles.
[[nodiscard]] SPECVERIFY_INLINE pack<double> widened(const float* from) noexcept {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(_mm256_loadu_ps(from));
#elif defined(__AVX__)
  return _mm256_cvtps_pd(_mm_loadu_ps(from));
#else
  double values[pack<double>::size];
  for (std::uint32_t i = 0; i < pack_size<double>; ++i) values[i] = static_cast<double>(from[i]);
  return load_pack(values);
#endif
}
[[nodiscard]] SPECVERIFY_INLINE pack<double> widened(const double* from) noexcept { return load_pack(from); }

//! Returns how many of `size` integers are at least `bound`. The integers must be at most 2^31, and `bound` must be in
//! 1 .. 2^31.
[[nodiscard]] inline std::uint32_t count_reaching(const std::uint32_t* values, std::uint32_t size,
                                                  std::uint32_t bound) noexcept {
  std::uint32_t count = 0, i = 0;
#if defined(__AVX512F__)
  const __m512i least = _mm512_set1_epi32(static_cast<int>(bound));
  for (; i + 16 <= size; i += 16) count += lanes_of(_mm512_cmpge_epu32_mask(_mm512_loadu_si512(values + i), least));
  const auto rest = static_cast<__mmask16>((1u << (size - i)) - 1u);
  count += lanes_of(_mm512_mask_cmpge_epu32_mask(rest, _mm512_maskz_loadu_epi32(rest, values + i), least));
  i = size;
#elif defined(__AVX2__)
  const __m256i least = _mm256_set1_epi32(static_cast<int>(bound));
  for (; i + 8 <= size; i += 8) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i));
    const __m256i reached = _mm256_cmpeq_epi32(_mm256_max_epu32(value, least), value);
    count += lanes_of(static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(reached))));
  }
#else
  const pack<std::int32_t> less(static_cast<std::int32_t>(bound - 1) - 1), one(1), none(0);
  pack<std::int32_t> counts(0);  // compares value - 1 > bound - 2 as signed integers, because 2^31 does not fit
  for (; i + pack_size<std::int32_t> <= size; i += pack_size<std::int32_t>) {
    std::int32_t lanes[pack_size<std::int32_t>];
    std::memcpy(lanes, values + i, sizeof(lanes));
    counts += chosen(load_pack(static_cast<const std::int32_t*>(lanes)) - one > less, one, none);
  }
  count = lanes_sum(counts);
#endif
  for (; i < size; ++i) count += values[i] >= bound ? 1u : 0u;
  return count;
}

template <class Element>
[[nodiscard]] SPECVERIFY_INLINE Element largest_lane(const pack<Element>& value) noexcept {
  Element lanes[pack<Element>::size];
  store_pack(lanes, value);
  Element best = lanes[0];
  for (std::uint32_t i = 1; i < pack_size<Element>; ++i) best = lanes[i] > best ? lanes[i] : best;
  return best;
}

//! Returns the bits of a float without the sign. The pattern of a NaN is above `infinity_bits`.
template <class Work>
[[nodiscard]] SPECVERIFY_INLINE pack<signed_of<Work>> magnitude_bits(const pack<Work>& value) noexcept {
  using integer = signed_of<Work>;
  constexpr integer all =
      sizeof(Work) == 4 ? static_cast<integer>(0x7FFFFFFF) : static_cast<integer>(0x7FFFFFFFFFFFFFFFLL);
  return integer_bits(value) & pack<integer>(all);
}
template <class Work>
inline constexpr signed_of<Work> infinity_bits = sizeof(Work) == 4 ? static_cast<signed_of<Work>>(0x7F800000)
                                                                   : static_cast<signed_of<Work>>(0x7FF0000000000000LL);

// Comparisons and conversions only detect a NaN if the compiler may not assume that there are none.
#if defined(__AVX__) && !(defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#define SPECVERIFY_NANS_COMPARE 1
#else
#define SPECVERIFY_NANS_COMPARE 0
#endif

//! Detects whether any pack contained a NaN.
template <class Element>
class nan_finder {
 public:
#if SPECVERIFY_NANS_COMPARE && defined(__AVX512F__)
  SPECVERIFY_INLINE void see(const pack<Element>& a, const pack<Element>& b) noexcept {
    if constexpr (sizeof(Element) == 4) {
      seen_ |= _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
    } else {
      seen_ |= _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q);
    }
  }
  [[nodiscard]] SPECVERIFY_INLINE bool found() const noexcept { return seen_ != 0; }

 private:
  std::uint32_t seen_ = 0;
#elif SPECVERIFY_NANS_COMPARE
  SPECVERIFY_INLINE void see(const pack<Element>& a, const pack<Element>& b) noexcept {
    if constexpr (sizeof(Element) == 4) {
      seen_ = _mm256_or_ps(seen_, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
    } else {
      seen_ = _mm256_or_pd(seen_, _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
    }
  }
  [[nodiscard]] SPECVERIFY_INLINE bool found() const noexcept {
    if constexpr (sizeof(Element) == 4) {
      return _mm256_movemask_ps(seen_) != 0;
    } else {
      return _mm256_movemask_pd(seen_) != 0;
    }
  }

 private:
  pack<Element> seen_ = pack<Element>(Element{0});
#else
  SPECVERIFY_INLINE void see(const pack<Element>& a, const pack<Element>& b) noexcept {
    largest_ = larger(largest_, larger(magnitude_bits(a), magnitude_bits(b)));
  }
  [[nodiscard]] SPECVERIFY_INLINE bool found() const noexcept {
    return largest_lane(largest_) > infinity_bits<Element>;
  }

 private:
  pack<signed_of<Element>> largest_ = pack<signed_of<Element>>(signed_of<Element>{0});
#endif
};

#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
#define SPECVERIFY_FUSES 1
#else
#define SPECVERIFY_FUSES 0
#endif

//! Prevents the compiler from fusing x, which is a product, with a later sum.
SPECVERIFY_INLINE void round_product(pack<double>& x) noexcept {
#if defined(__AVX512F__) && defined(__GNUC__)
  __m512d value = x;
  __asm__("" : "+v"(value));
  x = pack<double>(value);
#else
  (void)x;
#endif
}

#if defined(__GNUC__) && (defined(__SSE2__) || defined(__aarch64__))
#define SPECVERIFY_KEEPS_IN_REGISTER 1
#else
#define SPECVERIFY_KEEPS_IN_REGISTER 0
#endif

//! Returns the same pack, in a register. Without this call, g++ loads a value again for a second use. After the call,
//! the compiler can no longer use facts about the value.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> in_register(const pack<Element>& value) noexcept {
#if SPECVERIFY_KEEPS_IN_REGISTER
#if SPECVERIFY_WITH_XSIMD
  typename pack<Element>::register_type lanes = value;
#else
  typename pack<Element>::vector lanes = value;
#endif
#if defined(__AVX512F__)
  __asm__("" : "+v"(lanes));
#elif defined(__SSE2__)
  __asm__("" : "+x"(lanes));
#else
  __asm__("" : "+w"(lanes));
#endif
  return lanes;
#else
  return value;
#endif
}

//! Prefetches the cache lines of `Count` values that will be read soon. The values may be after the end of an array,
//! because a prefetch cannot fault.
template <std::uint32_t Count, class Value>
SPECVERIFY_INLINE void fetch_ahead(const Value* from) noexcept {
#if defined(__GNUC__)
  for (std::uint32_t i = 0; i < Count; i += 64 / sizeof(Value)) __builtin_prefetch(from + i);
#else
  (void)from;
#endif
}

//! Returns a * b + c, rounded once if SPECVERIFY_FUSES.
[[nodiscard]] SPECVERIFY_INLINE pack<float> fused(const pack<float>& a, const pack<float>& b,
                                                  const pack<float>& c) noexcept {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX__) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return fused_lanes(a, b, c);
#endif
}

//! Returns a * b + c for one number.
[[nodiscard]] SPECVERIFY_INLINE float fused(float a, float b, float c) noexcept {
#if SPECVERIFY_FUSES && defined(__GNUC__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

//! Sums packs of floats in double, in an unspecified order.
class wide_sum {
 public:
  SPECVERIFY_INLINE void add(const pack<float>& value) noexcept {
#if defined(__AVX512F__)
    const __m512 lanes = value;
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(lanes), 1));
    total_ += pack<double>(_mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(lanes)), _mm512_cvtps_pd(high)));
#elif defined(__AVX__)
    const __m256 lanes = value;
    total_ += pack<double>(_mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(lanes)),
                                         _mm256_cvtps_pd(_mm256_extractf128_ps(lanes, 1))));
#else
    float lanes[pack_size<float>];
    store_pack(lanes, value);
    for (std::uint32_t i = 0; i < pack_size<float>; i += pack_size<double>) total_ += widened(lanes + i);
#endif
  }
  [[nodiscard]] SPECVERIFY_INLINE double value() const noexcept {
    double lanes[pack_size<double>], sum = 0;
    store_pack(lanes, total_);
    for (const double lane : lanes) sum += lane;
    return sum;
  }

 private:
  pack<double> total_ = pack<double>(0.0);
};

//! Computes kernel::lane_tree of 16 lanes in neighbouring packs, with the same bits.
[[nodiscard]] SPECVERIFY_INLINE double lane_tree(const pack<float>* sums) noexcept {
#if defined(__AVX512F__)
  const __m512 lanes = sums[0];
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(lanes), 1));
  const __m512d eight = _mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(lanes)), _mm512_cvtps_pd(high));
  const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
#elif defined(__AVX__)
  const __m256 low = sums[0], high = sums[1];
  const __m256d first =
      _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(low)), _mm256_cvtps_pd(_mm256_castps256_ps128(high)));
  const __m256d second =
      _mm256_add_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(low, 1)), _mm256_cvtps_pd(_mm256_extractf128_ps(high, 1)));
  const __m256d four = _mm256_add_pd(first, second);
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
#else
  float lanes[lane_count];
  for (std::uint32_t r = 0; r < lane_count / pack_size<float>; ++r) store_pack(lanes + r * pack_size<float>, sums[r]);
  return kernel::lane_tree(static_cast<const float*>(lanes));
#endif
}

//! Sums 32 lanes pairwise in float: lane j + 16 to lane j, then j + 8 and so on.
[[nodiscard]] SPECVERIFY_INLINE float lane_sum(const float* lanes) noexcept {
#if defined(__AVX__)
#if defined(__AVX512F__)
  const __m512 sixteen = _mm512_add_ps(_mm512_loadu_ps(lanes), _mm512_loadu_ps(lanes + 16));
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(sixteen), 1));
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(sixteen), high);
#else
  const __m256 low = _mm256_add_ps(_mm256_loadu_ps(lanes), _mm256_loadu_ps(lanes + 16));
  const __m256 eight = _mm256_add_ps(low, _mm256_add_ps(_mm256_loadu_ps(lanes + 8), _mm256_loadu_ps(lanes + 24)));
#endif
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
  float sums[32];
  std::memcpy(sums, lanes, sizeof(sums));
  for (std::uint32_t half = 16; half > 0; half /= 2) {
    for (std::uint32_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
#endif
}

#if SPECVERIFY_NANS_COMPARE
//! Whether `truncated` converts a NaN to the smallest integer.
inline constexpr bool truncation_marks_nans = true;
#else
inline constexpr bool truncation_marks_nans = false;
#endif

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif  // SPECVERIFY_WITH_SIMD
#endif
