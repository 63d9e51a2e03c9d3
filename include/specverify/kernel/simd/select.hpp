// SPDX-License-Identifier: Apache-2.0
//! Gathering the largest entries in vectors: a comparison of values finds candidates, the integer weights of those
//! decide.
#ifndef SPECVERIFY_KERNEL_SIMD_SELECT_HPP
#define SPECVERIFY_KERNEL_SIMD_SELECT_HPP

#include <specverify/kernel/scalar/select.hpp>
#include <specverify/kernel/simd/pack.hpp>

#include <cmath>
#include <type_traits>

#if SPECVERIFY_WITH_XSIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! A value that every entry of integer weight above `floor` reaches: a little low, so that rounding cannot lose one.
template <class Work>
[[nodiscard]] inline Work value_above(const integer_weight& weight, std::uint32_t floor) noexcept {
  const double least = floor == 0 ? 0.25 : static_cast<double>(floor) - 0.5;  // w > floor means 2^31 e^x > floor - 1/4
  const double share = least * 0x1.0p-31 * (1.0 - 1e-6);
  double value = 0;
  if (weight.probabilities) {
    value = share * weight.maximum;
  } else {
    const double octaves = std::log2(share);  // weight.scale: 2^26 octaves per logit
    const double distance = octaves * 67108864.0 / weight.scale * (1.0 + 1e-6);
    value = weight.maximum + distance;
  }
  value -= (value < 0.0 ? -value : value) * 1e-6;
  constexpr double lowest = sizeof(Work) == 4 ? -0x1.fffffep127 : -0x1.fffffffffffffp1023;
  return value > lowest ? static_cast<Work>(value) : static_cast<Work>(lowest);
}

template <class Level, class Scalar>
inline void gather(exec::simd_on<Level>, const row_source<Scalar>& source, const integer_weight& weight,
                   candidate_list& list) noexcept {
  using work = working<Scalar>;
  constexpr std::uint32_t width = pack_size<work>;
  alignas(64) work buffer[block_size];
  std::uint32_t start = first_floor(source, weight, list);
  do {
    std::uint32_t floor = start;
    pack<work> bar(value_above<work>(weight, floor));
    // Whole blocks have a count that the compiler knows; a small row is not filled up to one.
    const auto scan = [&](std::uint32_t first, auto count) {
      const work* values = load(source, first, count, buffer);
      for (std::uint32_t i = 0; i < count; i += width) {
        std::uint32_t mask = at_least(load_pack(values + i), bar);
        if (mask == 0) continue;
        const std::uint32_t before = floor;
        for (; mask != 0; mask &= mask - 1) {
          const std::uint32_t at = i + lowest_lane(mask);
          push_candidate(list, static_cast<token_id>(first + at), weight(static_cast<double>(values[at])), floor);
        }
        if (floor != before) bar = pack<work>(value_above<work>(weight, floor));
      }
    };
    std::uint32_t first = 0;
    for (; source.size - first >= block_size; first += block_size)
      scan(first, std::integral_constant<std::uint32_t, block_size>{});
    if (first < source.size) scan(first, block_groups(source.size - first, width));
    if (!must_repeat(list, start)) break;
    start = 0;
  } while (true);
  (void)shrink(list);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_XSIMD

#endif
