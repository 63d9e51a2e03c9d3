// SPDX-License-Identifier: Apache-2.0
//! A row at several temperatures in vectors. Lane j of a block stays lane j, so the coarse sums have the bits of the
//! scalar reference.
#ifndef SPECVERIFY_KERNEL_SIMD_TEMPERED_HPP
#define SPECVERIFY_KERNEL_SIMD_TEMPERED_HPP

#include <specverify/kernel/scalar/tempered.hpp>
#include <specverify/kernel/simd/log_sum_exp.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

template <class Level, class Scalar>
inline void temper_sums(exec::simd_on<Level>, const row_source<Scalar>& source, working<Scalar> reference, float scale,
                        double* sums) noexcept {
  if constexpr (std::is_same_v<working<Scalar>, float>) {
    using integer = pack<std::int32_t>;
    constexpr std::uint32_t width = pack_size<float>;
    constexpr std::uint32_t rows = lane_count / width;
    const pack<float> from(reference), by(scale), floor(static_cast<float>(coarse_minimum));
    const integer bias(coarse_bias);
    for (std::uint32_t n = 0; n < temper_nodes; ++n) sums[n] = 0;
    alignas(64) float buffer[block_size];
    for (std::uint32_t first = 0; first < source.size; first += block_size) {
      const std::uint32_t size = block_width(source.size - first);
      const float* values = load(source, first, size, buffer);
      pack<float> totals[temper_nodes][rows];
      for (auto& node : totals) {
        for (auto& sum : node) sum = pack<float>(0.0f);
      }
      for (std::uint32_t i = 0; i < size; i += lane_count) {
        for (std::uint32_t r = 0; r < rows; ++r) {
          const integer octaves = truncated(larger((load_pack(values + i + r * width) - from) * by, floor));
          const integer half = octaves >> 1;
          totals[0][r] += float_bits(half + bias);
          totals[1][r] += float_bits(((octaves + half) >> 1) + bias);
          totals[2][r] += float_bits(octaves + bias);
        }
      }
      float lanes[lane_count];
      for (std::uint32_t n = 0; n < temper_nodes; ++n) {
        for (std::uint32_t r = 0; r < rows; ++r) store_pack(lanes + r * width, totals[n][r]);
        sums[n] += lane_tree(lanes);
      }
    }
  } else {
    temper_sums(exec::seq, source, reference, scale, sums);  // double rows are for tests and references
  }
}

//! In float, relative error below tempered_margin.
template <class Level>
inline void add_exponentials(exec::simd_on<Level>, const float* differences, std::uint32_t count,
                             const double* inverses, std::uint32_t temperatures, double* sums) noexcept {
  constexpr std::uint32_t width = pack_size<float>;
  const std::uint32_t whole = count / width * width;
  const power_table powers;
  [[maybe_unused]] const flushed_denormals no_assists;
  for (std::uint32_t m = 0; m < temperatures; ++m) {
    const pack<float> scale(static_cast<float>(inverses[m] * log2_e));
    pack<float> sum(0.0f);
    for (std::uint32_t i = 0; i < whole; i += width) {
      const power_parts power = powers(load_pack(differences + i) * scale);
      sum = fused(power.scale, power.fraction, sum);
    }
    wide_sum total;
    total.add(sum);
    sums[m] += total.value();
  }
  add_exponentials(exec::seq, differences + whole, count - whole, inverses, temperatures, sums);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
