// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: computes the standard deviation of a row of logits, in double. The logits of each block of 1024
//! ids are summed in 16 lanes, the lanes are added pairwise in a fixed order, and the blocks are added serially.
#ifndef SPECVERIFY_KERNEL_SCALAR_STANDARD_DEVIATION_HPP
#define SPECVERIFY_KERNEL_SCALAR_STANDARD_DEVIATION_HPP

#include <specverify/kernel/block_source.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Sums over the values that are not -infinity: their scaled differences from the maximum, the squares of these
//! differences, and the number of values.
struct deviation_sums {
  double sum = 0;
  double squares = 0;
  double count = 0;
};

template <bool Scaled, class Scalar>
[[nodiscard, gnu::noinline]] inline deviation_sums sum_deviations(const row_source<Scalar>& source, double maximum,
                                                                  [[maybe_unused]] double scale) noexcept {
  working<Scalar> buffer[block_size];
  deviation_sums all;
  // scaled before the subtraction, even under -ffast-math, because differences of the largest doubles are infinite
  const auto of_scale = [scale](double value) { return Scaled ? numeric::product(value, scale) : value; };
  const double top = of_scale(maximum);
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const working<Scalar>* values = load(source, first, block_size, buffer);
    double sums[lane_count] = {}, squares[lane_count] = {}, counts[lane_count] = {};
    for (std::uint32_t i = 0; i < block_size; i += lane_count) {
      for (std::uint32_t j = 0; j < lane_count; ++j) {
        const double value = static_cast<double>(values[i + j]);
        const bool there = !is_negative_infinity(value);
        const double below = there ? of_scale(value) - top : 0.0;
        counts[j] += there ? 1.0 : 0.0;
        sums[j] += below;
        squares[j] += below * below;
      }
    }
    all.count += lane_tree(counts);
    all.sum += lane_tree(sums);
    all.squares += lane_tree(squares);
  }
  return all;
}

//! Returns the population standard deviation of the values that are not -infinity; 0 for one value. `maximum` is the
//! largest value. It is subtracted before squaring and does not change the result. If the squares of a row of doubles
//! overflow or are tiny, the values are scaled and summed again.
template <class Policy, class Scalar>
[[nodiscard]] inline double logit_deviation(Policy, const row_source<Scalar>& source, double maximum) noexcept {
  double scale = 1;
  deviation_sums all = sum_deviations<false>(source, maximum, scale);
  if constexpr (std::is_same_v<Scalar, double>) {
    if (!is_finite(all.squares)) {
      scale = 0x1.0p-600;
    } else if (all.sum < 0 && all.squares < 0x1.0p-900) {
      scale = 0x1.0p600;
    }
    if (scale < 1 || scale > 1) all = sum_deviations<true>(source, maximum, scale);
  }
  if (!(all.count > 1)) return 0;
  const double mean = all.sum / all.count, variance = all.squares / all.count - mean * mean;
  return variance > 0 ? numeric::square_root(variance) / scale : 0.0;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
