// SPDX-License-Identifier: Apache-2.0
//! Computes the smallest integer weight that is at least a given share of the total weight, and sums the integer
//! weights of whole rows.
#ifndef SPECVERIFY_ROW_DETAIL_ORDER_HPP
#define SPECVERIFY_ROW_DETAIL_ORDER_HPP

#include <specverify/row/detail/open.hpp>
#include <specverify/row/detail/share.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the smallest weight that is at least a given share of the total. The result may be clamped, because weights
//! never exceed 2^31.
[[nodiscard]] inline std::uint32_t weight_bound(double share, std::uint64_t total, std::uint32_t size) noexcept {
  const std::uint64_t target = least_above(share, total, size);
  return target < 0xFFFFFFFFu ? static_cast<std::uint32_t>(target) : 0xFFFFFFFFu;
}

template <class Scalar>
[[nodiscard]] inline kernel::integer_weight weights_of(const kernel::row_source<Scalar>& source, double maximum,
                                                       double temperature) noexcept {
  const double scale =
      SPECVERIFY_LIKELY(!source.probabilities) ? kernel::weight_scale(temperature) : kernel::probability_scale(maximum);
  return {maximum, scale, source.probabilities};
}

//! Returns W of a row, and writes the weights to `all` unless it is null. Like other reads of whole rows, it is not
//! inlined, so that the code is compiled only once.
template <class Policy, class Scalar>
[[nodiscard, gnu::noinline]] inline std::uint64_t sum_weights(Policy policy, const kernel::row_source<Scalar>& source,
                                                              const kernel::integer_weight& weight,
                                                              std::uint32_t* all = nullptr) noexcept {
  kernel::working<Scalar> buffer[kernel::block_size];
  std::uint64_t sum = 0;
  for (std::uint32_t first = 0; first < source.size; first += kernel::block_size) {
    const std::uint32_t filled = kernel::block_groups(source.size - first, 1);
    const auto* values = kernel::load(source, first, filled, buffer);
    sum += all == nullptr ? kernel::sum_weights(policy, values, filled, weight)
                          : kernel::write_weights(policy, values, filled, weight, all + first);
  }
  return sum;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
