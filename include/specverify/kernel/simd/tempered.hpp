// SPDX-License-Identifier: Apache-2.0
//! Computes the sums of exponentials of a few entries at several temperatures, with vector instructions.
#ifndef SPECVERIFY_KERNEL_SIMD_TEMPERED_HPP
#define SPECVERIFY_KERNEL_SIMD_TEMPERED_HPP

#include <specverify/kernel/scalar/tempered.hpp>
#include <specverify/kernel/simd/log_sum_exp.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Computes the sums in float, with a relative error below tempered_margin.
template <class Level>
inline void add_exponentials(exec::simd_on<Level>, const float* differences, std::uint32_t count,
                             const double* inverses, std::uint32_t temperatures, double* sums) noexcept {
  constexpr std::uint32_t width = pack_size<float>;
  const std::uint32_t whole = count / width * width;
  float last[width] = {}, taken[width] = {};
  for (std::uint32_t i = whole; i < count; ++i) {
    last[i - whole] = differences[i];
    taken[i - whole] = 1.0f;
  }
  const power_table powers;
  [[maybe_unused]] const flushed_denormals no_assists;
  for (std::uint32_t m = 0; m < temperatures; ++m) {
    const pack<float> scale(static_cast<float>(inverses[m] * log2_e));
    pack<float> sum(0.0f);
    if (whole < count) {
      const power_parts power = powers(load_pack(last) * scale);
      sum = power.scale * load_pack(taken) * power.fraction;
    }
    for (std::uint32_t i = 0; i < whole; i += width) {
      const power_parts power = powers(load_pack(differences + i) * scale);
      sum = fused(power.scale, power.fraction, sum);
    }
    wide_sum total;
    total.add(sum);
    sums[m] += total.value();
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
