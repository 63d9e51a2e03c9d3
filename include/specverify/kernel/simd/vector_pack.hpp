// SPDX-License-Identifier: Apache-2.0
//! Provides packs from the vector types of g++ and clang, for builds without xsimd. Names and results equal xsimd's.
//!
//! An operation uses an intrinsic if the compiler does not generate the single instruction for it (for example, a
//! maximum).
//! See: kernel/simd/xsimd_pack.hpp
#ifndef SPECVERIFY_KERNEL_SIMD_VECTOR_PACK_HPP
#define SPECVERIFY_KERNEL_SIMD_VECTOR_PACK_HPP

#include <specverify/kernel/block_source.hpp>

#if SPECVERIFY_WITH_SIMD && !SPECVERIFY_WITH_XSIMD

#if defined(__AVX__)
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 warns about its own header
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#elif defined(__SSE2__)
#include <emmintrin.h>  // a tenth of the compile time of immintrin.h
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX512F__)
#define SPECVERIFY_VECTOR_BYTES 64
#elif defined(__AVX__)
#define SPECVERIFY_VECTOR_BYTES 32
#else
#define SPECVERIFY_VECTOR_BYTES 16
#endif

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

// One specialization per type, because g++ 12 drops the attribute if the element type depends on a template.
template <class Element>
struct vector_of;
template <>
struct vector_of<float> {
  typedef float type __attribute__((vector_size(SPECVERIFY_VECTOR_BYTES)));
};
template <>
struct vector_of<double> {
  typedef double type __attribute__((vector_size(SPECVERIFY_VECTOR_BYTES)));
};
template <>
struct vector_of<std::int32_t> {
  typedef std::int32_t type __attribute__((vector_size(SPECVERIFY_VECTOR_BYTES)));
};
template <>
struct vector_of<std::int64_t> {
  typedef std::int64_t type __attribute__((vector_size(SPECVERIFY_VECTOR_BYTES)));
};
template <>
struct vector_of<std::uint32_t> {
  typedef std::uint32_t type __attribute__((vector_size(SPECVERIFY_VECTOR_BYTES)));
};
template <>
struct vector_of<std::uint64_t> {
  typedef std::uint64_t type __attribute__((vector_size(SPECVERIFY_VECTOR_BYTES)));
};
#undef SPECVERIFY_VECTOR_BYTES

//! The element type for sums. Signed integers are summed as unsigned integers, because these wrap.
template <class Element>
struct wrapping {
  using type = Element;
};
template <>
struct wrapping<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct wrapping<std::int64_t> {
  using type = std::uint64_t;
};

//! Returns the bits of a vector as another vector of the same size.
template <class To, class From>
[[nodiscard]] SPECVERIFY_INLINE To vector_bits(From value) noexcept {
  To result;
  static_assert(sizeof(result) == sizeof(value), "vectors of one size");
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

//! Result of a comparison of packs: each lane has all bits set, or none.
template <class Element>
struct pack_truth {
  using vector =
      decltype(std::declval<typename vector_of<Element>::type>() < std::declval<typename vector_of<Element>::type>());
  vector lanes;
};

template <class Element>
class pack {
 public:
  using vector = typename vector_of<Element>::type;
  static constexpr std::size_t size = sizeof(vector) / sizeof(Element);

  SPECVERIFY_INLINE pack() noexcept = default;
  SPECVERIFY_INLINE explicit pack(Element value) noexcept : lanes_(value - vector{}) {}
  SPECVERIFY_INLINE pack(vector lanes) noexcept : lanes_(lanes) {}
  SPECVERIFY_INLINE operator vector() const noexcept { return lanes_; }

  friend SPECVERIFY_INLINE pack operator+(pack a, pack b) noexcept {
    return vector_bits<vector>(vector_bits<sum_vector>(a.lanes_) + vector_bits<sum_vector>(b.lanes_));
  }
  friend SPECVERIFY_INLINE pack operator-(pack a, pack b) noexcept {
    return vector_bits<vector>(vector_bits<sum_vector>(a.lanes_) - vector_bits<sum_vector>(b.lanes_));
  }
  friend SPECVERIFY_INLINE pack operator*(pack a, pack b) noexcept { return a.lanes_ * b.lanes_; }
  friend SPECVERIFY_INLINE pack operator&(pack a, pack b) noexcept { return a.lanes_ & b.lanes_; }
  friend SPECVERIFY_INLINE pack operator|(pack a, pack b) noexcept { return a.lanes_ | b.lanes_; }
  friend SPECVERIFY_INLINE pack operator<<(pack a, int bits) noexcept { return a.lanes_ << bits; }
  friend SPECVERIFY_INLINE pack operator>>(pack a, int bits) noexcept { return a.lanes_ >> bits; }
  friend SPECVERIFY_INLINE pack operator-(pack a) noexcept { return -a.lanes_; }
  SPECVERIFY_INLINE pack& operator+=(pack other) noexcept { return *this = *this + other; }
  friend SPECVERIFY_INLINE pack_truth<Element> operator>(pack a, pack b) noexcept { return {a.lanes_ > b.lanes_}; }
  friend SPECVERIFY_INLINE pack_truth<Element> operator>=(pack a, pack b) noexcept { return {a.lanes_ >= b.lanes_}; }

 private:
  using sum_vector = typename vector_of<typename wrapping<Element>::type>::type;
  vector lanes_;
};

template <class Element>
using signed_of = std::conditional_t<sizeof(Element) == 4, std::int32_t, std::int64_t>;

template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> load_pack(const Element* from) noexcept {
  typename pack<Element>::vector lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
template <class Element>
SPECVERIFY_INLINE void store_pack(Element* to, const pack<Element>& value) noexcept {
  const typename pack<Element>::vector lanes = value;
  std::memcpy(to, &lanes, sizeof(lanes));
}

//! Returns the bits of a pack as another type: of floats as integers, or of integers as floats.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<signed_of<Element>> integer_bits(const pack<Element>& value) noexcept {
  return vector_bits<typename pack<signed_of<Element>>::vector>(static_cast<typename pack<Element>::vector>(value));
}
[[nodiscard]] SPECVERIFY_INLINE pack<float> float_bits(const pack<std::int32_t>& value) noexcept {
  return vector_bits<pack<float>::vector>(static_cast<pack<std::int32_t>::vector>(value));
}
[[nodiscard]] SPECVERIFY_INLINE pack<double> double_bits(const pack<std::int64_t>& value) noexcept {
  return vector_bits<pack<double>::vector>(static_cast<pack<std::int64_t>::vector>(value));
}

//! Truncates towards zero. A float outside the range of int32 gives an unspecified integer.
[[nodiscard]] SPECVERIFY_INLINE pack<std::int32_t> truncated(const pack<float>& value) noexcept {
  using integers = pack<std::int32_t>::vector;
#if defined(__AVX512F__)
  return vector_bits<integers>(_mm512_cvttps_epi32(value));
#elif defined(__AVX__)
  return vector_bits<integers>(_mm256_cvttps_epi32(value));
#elif defined(__SSE2__)
  return vector_bits<integers>(_mm_cvttps_epi32(value));
#elif defined(__aarch64__)
  return vector_bits<integers>(vcvtq_s32_f32(vector_bits<float32x4_t>(static_cast<pack<float>::vector>(value))));
#else
  return __builtin_convertvector(static_cast<pack<float>::vector>(value), integers);
#endif
}
[[nodiscard]] SPECVERIFY_INLINE pack<float> as_floats(const pack<std::int32_t>& value) noexcept {
  return __builtin_convertvector(static_cast<pack<std::int32_t>::vector>(value), pack<float>::vector);
}

//! Returns, for each lane, the value of `a` if the comparison is true, otherwise the value of `b`.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> chosen(const pack_truth<Element>& truth, const pack<Element>& a,
                                                     const pack<Element>& b) noexcept {
  using vector = typename pack<Element>::vector;
  return truth.lanes ? static_cast<vector>(a) : static_cast<vector>(b);
}

// Each of these is one instruction, but g++ 12 compiles `a > b ? a : b` on floats to a comparison and a selection.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> larger(const pack<Element>& a, const pack<Element>& b) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Element, float>) return _mm512_max_ps(a, b);
  if constexpr (std::is_same_v<Element, double>) return _mm512_max_pd(a, b);
#elif defined(__AVX__)
  if constexpr (std::is_same_v<Element, float>) return _mm256_max_ps(a, b);
  if constexpr (std::is_same_v<Element, double>) return _mm256_max_pd(a, b);
#elif defined(__SSE2__)
  if constexpr (std::is_same_v<Element, float>) return _mm_max_ps(a, b);
  if constexpr (std::is_same_v<Element, double>) return _mm_max_pd(a, b);
#endif
  return chosen(a > b, a, b);
}
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> smaller(const pack<Element>& a, const pack<Element>& b) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Element, float>) return _mm512_min_ps(a, b);
  if constexpr (std::is_same_v<Element, double>) return _mm512_min_pd(a, b);
#elif defined(__AVX__)
  if constexpr (std::is_same_v<Element, float>) return _mm256_min_ps(a, b);
  if constexpr (std::is_same_v<Element, double>) return _mm256_min_pd(a, b);
#elif defined(__SSE2__)
  if constexpr (std::is_same_v<Element, float>) return _mm_min_ps(a, b);
  if constexpr (std::is_same_v<Element, double>) return _mm_min_pd(a, b);
#endif
  return chosen(b > a, a, b);
}

//! Returns a * b + c, rounded once if the instruction set can do this.
[[nodiscard]] SPECVERIFY_INLINE pack<float> fused_lanes(const pack<float>& a, const pack<float>& b,
                                                        const pack<float>& c) noexcept {
#if defined(__aarch64__)
  using vector = pack<float>::vector;
  return vector_bits<vector>(vfmaq_f32(vector_bits<float32x4_t>(static_cast<vector>(c)),
                                       vector_bits<float32x4_t>(static_cast<vector>(a)),
                                       vector_bits<float32x4_t>(static_cast<vector>(b))));
#else
  return a * b + c;
#endif
}

//! Returns a mask: bit i is set if lane i compares true.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t mask_of(const pack_truth<Element>& truth) noexcept {
  std::uint32_t mask = 0;
  for (std::uint32_t i = 0; i < pack<Element>::size; ++i) mask |= static_cast<std::uint32_t>(truth.lanes[i] & 1) << i;
  return mask;
}

//! Returns whether any lane of `a` is larger than the same lane of `b`.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE bool any_above(const pack<Element>& a, const pack<Element>& b) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Element, float>) return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
#elif defined(__AVX__)
  if constexpr (std::is_same_v<Element, float>) return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
#elif defined(__SSE2__)
  if constexpr (std::is_same_v<Element, float>) return _mm_movemask_ps(_mm_cmpgt_ps(a, b)) != 0;
#endif
  return mask_of(a > b) != 0;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif  // SPECVERIFY_WITH_SIMD && !SPECVERIFY_WITH_XSIMD
#endif
