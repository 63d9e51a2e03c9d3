// SPDX-License-Identifier: Apache-2.0
//! Probabilities written out in vectors, for float output of float rows.
#ifndef SPECVERIFY_KERNEL_SIMD_SOFTMAX_HPP
#define SPECVERIFY_KERNEL_SIMD_SOFTMAX_HPP

#include <specverify/kernel/scalar/softmax.hpp>
#include <specverify/kernel/simd/log_sum_exp.hpp>

#if SPECVERIFY_WITH_XSIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

template <class Level, class Scalar>
inline void write_softmax(exec::simd_on<Level>, const row_source<Scalar>& source, const exact_weight& weight,
                          float* out) noexcept {
  if constexpr (!std::is_same_v<working<Scalar>, float>) {
    write_softmax(exec::seq, source, weight, out);
  } else {
    if (weight.probabilities) {
      write_softmax(exec::seq, source, weight, out);
      return;
    }
    constexpr std::uint32_t width = pack_size<float>;
    constexpr std::uint32_t rows = lane_count / width;
    const pack<float> reference(static_cast<float>(weight.reference)), scale(quick_scale(weight));
    alignas(64) float buffer[exact_size];
    alignas(64) float written[exact_size];
    double total = 0;
    for (std::uint32_t first = 0; first < source.size; first += exact_size) {
      const float* values = load(source, first, exact_size, buffer);
      const std::uint32_t filled = source.size - first < exact_size ? source.size - first : exact_size;
      float* to = filled == exact_size ? out + first : written;
      pack<float> sums[rows];
      for (auto& sum : sums) sum = pack<float>(0.0f);
      for (std::uint32_t i = 0; i < exact_size; i += lane_count) {
        for (std::uint32_t r = 0; r < rows; ++r) {
          const pack<float> result = quick_exponentials(load_pack(values + i + r * width) - reference, scale);
          store_pack(to + i + r * width, result);
          sums[r] += result;
        }
      }
      if (filled != exact_size) {
        for (std::uint32_t i = 0; i < filled; ++i) out[first + i] = written[i];
      }
      float lanes[lane_count];
      for (std::uint32_t r = 0; r < rows; ++r) store_pack(lanes + r * width, sums[r]);
      total += lane_tree(lanes);
    }
    const float inverse = static_cast<float>(1.0 / total);
    std::uint32_t i = 0;
    for (; i + width <= source.size; i += width) store_pack(out + i, load_pack(out + i) * pack<float>(inverse));
    for (; i < source.size; ++i) out[i] *= inverse;
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_XSIMD

#endif
