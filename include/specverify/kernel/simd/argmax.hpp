// SPDX-License-Identifier: Apache-2.0
//! Largest and second largest value of a row in vectors. Same result as the scalar reference.
#ifndef SPECVERIFY_KERNEL_SIMD_ARGMAX_HPP
#define SPECVERIFY_KERNEL_SIMD_ARGMAX_HPP

#include <specverify/kernel/scalar/argmax.hpp>
#include <specverify/kernel/simd/pack.hpp>

#if SPECVERIFY_WITH_XSIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Bits without the sign, and the largest such pattern that is not a NaN.
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

//! Smallest id of a block whose value equals `value`.
template <class Scalar>
[[nodiscard]] inline std::uint32_t locate_value(const row_source<Scalar>& source, std::uint32_t first,
                                                working<Scalar> value) noexcept {
  working<Scalar> buffer[block_size];
  const std::uint32_t filled = block_groups(source.size - first, 1);
  const working<Scalar>* values = load(source, first, filled, buffer);
  for (std::uint32_t i = 0; i < filled; ++i) {
    if (values[i] >= value) return first + i;
  }
  return first;
}

template <class Level, class Scalar>
[[nodiscard]] inline row_extremes<working<Scalar>> find_maximum(exec::simd_on<Level>,
                                                                const row_source<Scalar>& source) noexcept {
  using work = working<Scalar>;
  using integer = signed_of<work>;
  constexpr std::uint32_t width = pack_size<work>;
  const work forbidden = source.forbidden();
  row_extremes<work> found;
  found.maximum = found.second = forbidden;
  std::uint32_t best_first = 0;
  pack<integer> magnitude(integer{0});
  pack<work> smallest(work{0});
  alignas(64) work buffer[block_size];
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const work* values = load(source, first, block_size, buffer);
    pack<work> top0(forbidden), top1(forbidden), second0(forbidden), second1(forbidden);
    for (std::uint32_t i = 0; i < block_size; i += 2 * width) {
      const pack<work> a = load_pack(values + i);
      const pack<work> b = load_pack(values + i + width);
      magnitude = larger(magnitude, larger(magnitude_bits(a), magnitude_bits(b)));
      if (source.probabilities) smallest = smaller(smallest, smaller(a, b));
      second0 = larger(second0, smaller(a, top0));
      second1 = larger(second1, smaller(b, top1));
      top0 = larger(top0, a);
      top1 = larger(top1, b);
    }
    const pack<work> top = larger(top0, top1);
    const pack<work> second = larger(larger(second0, second1), smaller(top0, top1));
    work tops[width], seconds[width];
    store_pack(tops, top);
    store_pack(seconds, second);
    for (std::uint32_t i = 0; i < width; ++i) {
      if (tops[i] > found.maximum) {
        found.second = found.maximum;
        found.maximum = tops[i];
        best_first = first;
      } else if (tops[i] > found.second) {
        found.second = tops[i];
      }
      if (seconds[i] > found.second) found.second = seconds[i];
    }
  }
  found.has_nan = largest_lane(magnitude) > infinity_bits<work>;
  found.has_negative = source.probabilities && -largest_lane(-smallest) < work{0};
  found.argmax = locate_value(source, best_first, found.maximum);
  return found;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_XSIMD

#endif
