// SPDX-License-Identifier: Apache-2.0
//! Finds the nearest lattice point with vector instructions. The steps are those of kernel/scalar/lattice.hpp, in
//! 64-bit lanes, so the counts are the same.
#ifndef SPECVERIFY_KERNEL_SIMD_LATTICE_HPP
#define SPECVERIFY_KERNEL_SIMD_LATTICE_HPP

#include <specverify/core/execution.hpp>
#include <specverify/kernel/scalar/lattice.hpp>
#include <specverify/kernel/simd/wide.hpp>

#if SPECVERIFY_WITH_SIMD && defined(SPECVERIFY_WIDE_INTEGERS)
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

template <class Level>
[[nodiscard]] inline lattice_rounding round_to_lattice(exec::simd_on<Level>, const std::uint32_t* weights,
                                                       std::uint32_t size, std::uint64_t normaliser,
                                                       std::uint32_t resolution, lattice_entries out) noexcept {
  const wide_register divisor = wide_set(2 * normaliser), one_normaliser = wide_set(normaliser);
  const wide_register scale = wide_set(resolution);
  const pack<double> inverse(1.0 / static_cast<double>(static_cast<std::int64_t>(2 * normaliser)));
  wide_register sum = wide_set(0);
  lattice_rounding found;
  std::uint32_t i = 0;
  for (; i + wide_size <= size; i += wide_size) {
    const wide_register scaled = wide_product(wide_from(weights + i), scale);
    const wide_register numerator = wide_add(wide_add(scaled, scaled), one_normaliser);
    wide_register rounded = wide_truncated(wide_double(numerator) * inverse);
    const wide_register rest = wide_subtract(numerator, wide_product_64(rounded, divisor));
    rounded = wide_put_right(rounded, rest, divisor);
    wide_store_low(out.counts + i, rounded);
    wide_store(reinterpret_cast<std::uint64_t*>(out.remainders + i),
               wide_subtract(wide_product_64(rounded, one_normaliser), scaled));
    sum = wide_add(sum, rounded);
    found.positive += wide_positive(rounded);
  }
  lattice_rounding last{-static_cast<std::int64_t>(resolution), 0};  // result for no entries: 0 - resolution
  if (i < size) {
    last = round_to_lattice(exec::seq, weights + i, size - i, normaliser, resolution,
                            {out.counts + i, out.remainders + i});
  }
  std::uint64_t parts[wide_size];
  wide_store(parts, sum);
  for (const std::uint64_t part : parts) found.excess += static_cast<std::int64_t>(part);
  found.excess += last.excess;  // the last entries' sum minus the resolution
  found.positive += last.positive;
  return found;
}

//! Implements `select_counts`. To find the smallest remainder, it searches the largest complement.
template <bool Largest>
inline void select_wide(std::int64_t* remainders, std::uint32_t size, std::int64_t moves,
                        std::uint32_t* counts) noexcept {
  const auto load = [&](std::uint32_t i) noexcept {
    const wide_register value = wide_load(remainders + i, size - i, Largest ? INT64_MIN : INT64_MAX);
    return Largest ? value : wide_subtract(wide_set(~std::uint64_t{0}), value);
  };
  for (; moves > 0; --moves) {
    wide_register top = load(0);
    for (std::uint32_t i = wide_size; i < size; i += wide_size) top = wide_larger(top, load(i));
    const wide_register value = wide_set(static_cast<std::uint64_t>(wide_largest_lane(top)));
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < size; i += wide_size) {
      const std::uint32_t mask = wide_equal(load(i), value);
      if (mask == 0) continue;
      best = i + (Largest ? highest_lane(mask) : lowest_lane(mask));
      if (!Largest) break;
    }
    counts[best] += Largest ? ~std::uint32_t{0} : 1u;
    remainders[best] = Largest ? INT64_MIN : INT64_MAX;
  }
}

template <class Level>
inline void repair_lattice(exec::simd_on<Level>, lattice_entries entries, std::uint32_t size, std::int64_t excess,
                           std::uint32_t* heap) noexcept {
  constexpr std::int64_t selected = 32;
  if (excess > selected || excess < -selected) {
    repair_lattice(exec::seq, entries, size, excess, heap);
  } else if (excess > 0) {
    select_wide<true>(entries.remainders, size, excess, entries.counts);
  } else if (excess < 0) {
    select_wide<false>(entries.remainders, size, -excess, entries.counts);
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif

#endif
