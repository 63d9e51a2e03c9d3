// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: computes the normalizer Z = sum of e^((z_v - max) / T) in double precision, from every entry. Each
//! block of 256 ids is summed in 16 lanes in ascending order, the lanes are added pairwise in a fixed order, and the
//! blocks are added serially.
#ifndef SPECVERIFY_KERNEL_SCALAR_LOG_SUM_EXP_HPP
#define SPECVERIFY_KERNEL_SCALAR_LOG_SUM_EXP_HPP

#include <specverify/kernel/scalar/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Computes e^((z - reference) / T) of a logit, or p itself, in double.
struct exact_weight {
  double reference = 0;
  double inverse_temperature = 1;
  bool probabilities = false;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double operator()(double value) const noexcept {
    return probabilities ? value : exponential(product(value - reference, inverse_temperature));
  }
};

//! Returns weight - taken * total, which may be negative. `weight`: an exact weight, possibly scaled; `taken`: a share
//! of Z.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double left_of(double weight, double taken, double total) noexcept {
  return weight - product(taken, total);
}

//! Returns the sum of the weights of 256 consecutive values, added in the fixed order.
template <class Work>
[[nodiscard]] inline double exact_block(exec::seq_policy, const Work* values, const exact_weight& weight) noexcept {
  double lanes[lane_count] = {};
  for (std::uint32_t i = 0; i < exact_size; i += lane_count) {
    for (std::uint32_t j = 0; j < lane_count; ++j) lanes[j] += weight(static_cast<double>(values[i + j]));
  }
  return lane_tree(lanes);
}

//! Writes the weights of 256 consecutive values.
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

//! Maximum relative error of a quick sum, if no value exceeds the reference by more than coarse_range. Rounding up to
//! 87 octaves three times in float contributes 1.1e-5; the powers and their sums in a block contribute 5e-6. The
//! measured error is below 1e-6.
inline constexpr double quick_error = 2e-5;

//! Sums the weights of logits with a relative error of quick_error. Returns 0 if no method is faster than the exact
//! sum, as in the scalar version.
template <class Scalar>
[[nodiscard]] inline double quick_total(exec::seq_policy, const row_source<Scalar>&, const exact_weight&) noexcept {
  return 0;
}

//! Sums the weights of logits with a relative error of at most 2e-6. The scalar version is exact.
template <class Scalar>
[[nodiscard]] inline double quick_sum(exec::seq_policy policy, const row_source<Scalar>& source,
                                      const exact_weight& weight) noexcept {
  return exact_sum(policy, source, weight);
}

//! Bounds least <= W <= most for integer weights, as doubles. Both are 0 if there are no bounds.
struct total_range {
  double least = 0;
  double most = 0;
};

//! Maximum error of a power in float, relative to 2^31 e^x and to the integer weight before rounding, up to 33 octaves
//! below the reference. It consists of 1.4e-6 for the slope, 2.7e-6 for two roundings of the exponent (one if products
//! are fused), 5e-7 for the power, 3e-7 for factors and products, and 2.4e-7 for integers of 23 bits. The measured
//! error is 3.3e-6.
inline constexpr double rounded_power_error = 6e-6;
//! Maximum relative error of sums of 34 rounded numbers.
inline constexpr double rounded_sum_error = 2.5e-6;

//! Returns bounds on W, about 2e-5 wide, for a row of logits whose reference is the maximum. Every power is rounded to
//! an integer twice, once slightly down for the lower bound and once slightly up for the upper bound. Returns no bounds
//! if computing W itself is as fast.
template <class Scalar>
[[nodiscard]] inline total_range rounded_total(exec::seq_policy, const row_source<Scalar>&,
                                               const exact_weight&) noexcept {
  return {};
}

//! Returns a quick sum from a single read, and writes the sampled `reference`. Returns 0 if this is not possible; the
//! caller must then find the maximum and check the values first. The scalar version always returns 0.
template <class Scalar>
[[nodiscard]] inline double one_read_sum(exec::seq_policy, const row_source<Scalar>&, double, double&) noexcept {
  return 0;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
