// SPDX-License-Identifier: Apache-2.0
//! The standard deviation of a row of logits, scalar reference. Shape: 16 lanes over blocks of 1024 ids, the lane tree,
//! blocks serially, in double.
#ifndef SPECVERIFY_KERNEL_SCALAR_STANDARD_DEVIATION_HPP
#define SPECVERIFY_KERNEL_SCALAR_STANDARD_DEVIATION_HPP

#include <specverify/kernel/block_source.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Population standard deviation of the values that are not -infinity; 0 of one value. `maximum` is the largest (it
//! only centres the sums).
template <class Policy, class Scalar>
[[nodiscard, gnu::noinline]] inline double logit_deviation(Policy, const row_source<Scalar>& source,
                                                           double maximum) noexcept {
  working<Scalar> buffer[block_size];
  double sum = 0, squares = 0, count = 0;
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const working<Scalar>* values = load(source, first, block_size, buffer);
    double sums[lane_count] = {}, square_sums[lane_count] = {}, counts[lane_count] = {};
    for (std::uint32_t i = 0; i < block_size; i += lane_count) {
      for (std::uint32_t j = 0; j < lane_count; ++j) {
        const double value = static_cast<double>(values[i + j]);
        const double there = value > -1.0e300 ? 1.0 : 0.0;
        const double below = value > -1.0e300 ? value - maximum : 0.0;
        counts[j] += there;
        sums[j] += below;
        square_sums[j] += below * below;
      }
    }
    count += lane_tree(counts);
    sum += lane_tree(sums);
    squares += lane_tree(square_sums);
  }
  if (!(count > 1)) return 0;
  const double mean = sum / count, variance = squares / count - mean * mean;
  return variance > 0 ? numeric::square_root(variance) : 0.0;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
