// SPDX-License-Identifier: Apache-2.0
//! Provides packs as xsimd's batches for the widest instruction set of this translation unit.
//!
//! See: kernel/simd/vector_pack.hpp, which provides the same packs without xsimd
#ifndef SPECVERIFY_KERNEL_SIMD_XSIMD_PACK_HPP
#define SPECVERIFY_KERNEL_SIMD_XSIMD_PACK_HPP

#include <specverify/kernel/block_source.hpp>

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

#include <specverify/core/foreign_macros_off.def>
#include <xsimd/xsimd.hpp>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#elif defined(__clang__)
#pragma clang diagnostic pop
#endif

#include <cstdint>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

template <class Element>
using pack = xsimd::batch<Element>;

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

//! Returns the bits of a pack as another type: of floats as integers, or of integers as floats.
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

//! Truncates towards zero. A float outside the range of int32 gives an unspecified integer.
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

[[nodiscard]] SPECVERIFY_INLINE pack<float> as_floats(const pack<std::int32_t>& value) noexcept {
  return xsimd::to_float(value);
}

//! Returns, for each lane, the value of `a` if the comparison is true, otherwise the value of `b`.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE pack<Element> chosen(const xsimd::batch_bool<Element>& truth, const pack<Element>& a,
                                                     const pack<Element>& b) noexcept {
  return xsimd::select(truth, a, b);
}

//! Returns a * b + c, rounded once if the instruction set can do this.
[[nodiscard]] SPECVERIFY_INLINE pack<float> fused_lanes(const pack<float>& a, const pack<float>& b,
                                                        const pack<float>& c) noexcept {
  return xsimd::fma(a, b, c);
}

//! Returns whether any lane of `a` is larger than the same lane of `b`.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE bool any_above(const pack<Element>& a, const pack<Element>& b) noexcept {
  return xsimd::any(a > b);
}

//! Returns a mask: bit i is set if lane i compares true.
template <class Element, class Arch>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t mask_of(const xsimd::batch_bool<Element, Arch>& truth) noexcept {
  bool lanes[xsimd::batch<Element, Arch>::size];
  truth.store_unaligned(lanes);
  std::uint32_t mask = 0;
  for (std::uint32_t i = 0; i < xsimd::batch<Element, Arch>::size; ++i)
    mask |= static_cast<std::uint32_t>(lanes[i]) << i;
  return mask;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif  // SPECVERIFY_WITH_XSIMD
#endif
