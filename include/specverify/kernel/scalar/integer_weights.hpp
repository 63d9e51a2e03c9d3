// SPDX-License-Identifier: Apache-2.0
//! Scalar reference (bit-exact): computes the integer weights of runs of values.
#ifndef SPECVERIFY_KERNEL_SCALAR_INTEGER_WEIGHTS_HPP
#define SPECVERIFY_KERNEL_SCALAR_INTEGER_WEIGHTS_HPP

#include <specverify/core/execution.hpp>
#include <specverify/kernel/block_source.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Computes the integer weight of a value: 2^31 e^((z - maximum) / T) or 2^31 p / maximum, rounded.
struct integer_weight {
  double maximum = 0;
  double scale = 1;  //!< weight_scale(T), or probability_scale(maximum)
  bool probabilities = false;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t operator()(double value) const noexcept {
    return SPECVERIFY_LIKELY(!probabilities) ? logit_weight(value, maximum, scale) : probability_weight(value, scale);
  }
};

//! Writes `count` weights and returns their sum.
template <class Work>
[[gnu::noinline]] inline std::uint64_t write_weights(exec::seq_policy, const Work* values, std::uint32_t count,
                                                     const integer_weight& weight, std::uint32_t* weights) noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    weights[i] = weight(static_cast<double>(values[i]));
    sum += weights[i];
  }
  return sum;
}

//! Returns the sum of `count` weights, without writing them.
template <class Policy, class Work>
[[nodiscard]] inline std::uint64_t sum_weights(Policy policy, const Work* values, std::uint32_t count,
                                               const integer_weight& weight) noexcept {
  constexpr std::uint32_t part = 256;
  std::uint32_t weights[part];
  std::uint64_t sum = 0;
  for (std::uint32_t first = 0; first < count; first += part)
    sum += write_weights(policy, values + first, count - first < part ? count - first : part, weight, weights);
  return sum;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
