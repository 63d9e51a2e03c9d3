// SPDX-License-Identifier: Apache-2.0
//! Writes the probabilities of a row of floats or 16-bit numbers as floats, with vector instructions.
#ifndef SPECVERIFY_KERNEL_SIMD_SOFTMAX_HPP
#define SPECVERIFY_KERNEL_SIMD_SOFTMAX_HPP

#include <specverify/kernel/scalar/softmax.hpp>
#include <specverify/kernel/simd/log_sum_exp.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! `sum` must be from quick_sum under the same weight, or 0.
template <class Level, class Scalar>
inline void write_softmax(exec::simd_on<Level> policy, const row_source<Scalar>& source, const exact_weight& weight,
                          double sum, float* out) noexcept {
  if constexpr (std::is_same_v<working<Scalar>, float>) {
    if (!weight.probabilities && quick_powers(weight).usable()) {
      double total = sum > 0.0 ? sum : quick_sum(policy, source, weight);
      total *= numeric::exp2(quick_powers(weight).offset());
      const quick_powers powers(weight, static_cast<float>(1.0 / total));
      [[maybe_unused]] const zeroed_denormals no_assists;
      constexpr std::uint32_t width = pack_size<float>;
      alignas(64) float buffer[block_size], written[block_size];
      const auto write = [&](const float* values, auto count, float* to) {
        for (std::uint32_t i = 0; i < count; i += width) store_pack(to + i, powers.results(load_pack(values + i)));
      };
      std::uint32_t first = 0;
      for (; source.size - first >= block_size; first += block_size)
        write(load(source, first, block_size, buffer), std::integral_constant<std::uint32_t, block_size>{},
              out + first);
      const std::uint32_t left = source.size - first;
      write(load(source, first, left == 0 ? 0 : block_groups(left, lane_count), buffer), block_groups(left, lane_count),
            static_cast<float*>(written));
      for (std::uint32_t i = 0; i < left; ++i) out[first + i] = written[i];
      return;
    }
  }
  write_softmax(exec::seq, source, weight, sum, out);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
