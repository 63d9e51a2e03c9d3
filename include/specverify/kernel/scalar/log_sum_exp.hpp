// SPDX-License-Identifier: Apache-2.0
//! The exact normaliser in double, scalar reference. Shape: blocks of 256 ids, 16 lanes ascending inside, the lane
//! tree, blocks serially.
#ifndef SPECVERIFY_KERNEL_SCALAR_LOG_SUM_EXP_HPP
#define SPECVERIFY_KERNEL_SCALAR_LOG_SUM_EXP_HPP

#include <specverify/kernel/scalar/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! e^((z - reference) / T) of a logit, or p itself, in double.
struct exact_weight {
  double reference = 0;
  double inverse_temperature = 1;
  bool probabilities = false;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double operator()(double value) const noexcept {
    return probabilities ? value : exponential(product(value - reference, inverse_temperature));
  }
};

//! What is left of an exact weight, scaled or not, when a share `taken` of Z is subtracted from it; or less than 0.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double left_of(double weight, double taken, double total) noexcept {
  return weight - product(taken, total);
}

//! Sum of 256 consecutive values' weights in the fixed shape.
template <class Work>
[[nodiscard]] inline double exact_block(exec::seq_policy, const Work* values, const exact_weight& weight) noexcept {
  double lanes[lane_count] = {};
  for (std::uint32_t i = 0; i < exact_size; i += lane_count) {
    for (std::uint32_t j = 0; j < lane_count; ++j) lanes[j] += weight(static_cast<double>(values[i + j]));
  }
  return lane_tree(lanes);
}

//! Weights of 256 consecutive values.
template <class Work>
inline void exact_weights(exec::seq_policy, const Work* values, const exact_weight& weight, double* out) noexcept {
  for (std::uint32_t i = 0; i < exact_size; ++i) out[i] = weight(static_cast<double>(values[i]));
}

template <class Policy, class Scalar>
[[nodiscard, gnu::noinline]] inline double exact_sum(Policy policy, const row_source<Scalar>& source,
                                                     const exact_weight& weight) noexcept {
  working<Scalar> buffer[exact_size];
  double sum = 0;
  for (std::uint32_t first = 0; first < source.size; first += exact_size)
    sum += exact_block(policy, load(source, first, exact_size, buffer), weight);
  return sum;
}

//! Relative error of a quick sum at most, where no value stands above the reference by more than coarse_range: 1.1e-5
//! from up to 87 octaves that are rounded three times in float, 5e-6 from the powers and their sums in a block.
//! Measured: below 1e-6.
inline constexpr double quick_error = 2e-5;

//! A sum of logits' weights to quick_error; 0 where there is no quicker way than the exact one.
template <class Scalar>
[[nodiscard]] inline double quick_total(exec::seq_policy, const row_source<Scalar>&, const exact_weight&) noexcept {
  return 0;
}

//! The same sum where 2e-6 of relative error will do; exact here.
template <class Scalar>
[[nodiscard]] inline double quick_sum(exec::seq_policy policy, const row_source<Scalar>& source,
                                      const exact_weight& weight) noexcept {
  return exact_sum(policy, source, weight);
}

//! least <= W <= most for integer weights W, as numbers; 0 and 0: not known.
struct total_range {
  double least = 0;
  double most = 0;
};

//! How far a power in float may lie from 2^31 e^x and from the integer weight before that is rounded, relative to it,
//! up to 33 octaves below the reference: 1.4e-6 by the slope, 2.7e-6 by two roundings of the exponent (one where
//! products are fused), 5e-7 by the power, 3e-7 by factors and products, 2.4e-7 by integers of 23 bits. Measured:
//! 3.3e-6.
inline constexpr double rounded_power_error = 6e-6;
//! How far sums of 34 rounded numbers lie from theirs.
inline constexpr double rounded_sum_error = 2.5e-6;

//! Bounds of W of a row of logits whose reference is its maximum, about 2e-5 wide: every power is rounded to an integer
//! as a weight is, once a little below it and once a little above. No bounds where no way is quicker than W itself.
template <class Scalar>
[[nodiscard]] inline total_range rounded_total(exec::seq_policy, const row_source<Scalar>&,
                                               const exact_weight&) noexcept {
  return {};
}

//! A quick sum by a single read from a sampled `reference`, which is written. 0 where that does not do: the caller then
//! looks for the maximum and for bad values first. Always 0 here.
template <class Scalar>
[[nodiscard]] inline double one_read_sum(exec::seq_policy, const row_source<Scalar>&, double, double&) noexcept {
  return 0;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
