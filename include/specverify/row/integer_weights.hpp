// SPDX-License-Identifier: Apache-2.0
//! Converts a row to integer weights that are the same on every backend.
//!
//! The weights are w_v = 2^31 e^((z_v - max) / T) for logits, and 2^31 p_v / max for probabilities, rounded.
//! Paper:      arXiv:2507.00605, lattice step; this header computes it in integers.
//! Symbols:    z_v = logit after bias and mask, T = temperature, p_v = probability, max = the row's largest z_v or p_v,
//!             x = (z_v - max) / T, W = sum of the weights.
//! Guarantees: |w - 2^31 e^x| <= 1/2 + 2^31 e^x 2^-26 (logits); the error is at most 1 (probabilities). The largest
//!             weight is exactly 2^31, and a weight below 2^-32 of the largest is 0. Monotone in z. Bit-exact, also
//!             under -ffast-math. O(V); no allocation; noexcept.
//! See:        docs/algorithms/integer_weights.md, tests/unit/row/integer_weights_test.cpp,
//!             benchmarks/bench_integer_weights.cpp
#ifndef SPECVERIFY_ROW_INTEGER_WEIGHTS_HPP
#define SPECVERIFY_ROW_INTEGER_WEIGHTS_HPP

#include <specverify/row/detail/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN

//! Writes one weight per valid id; returns the sum W. If the temperature is below 1e-6, the argmax gets 2^31 and every
//! other id 0.
//! Errors: as for `read_row`, except errors of the request or the workspace; unsupported (a truncation),
//!         output_too_small (fewer than valid_size weights). On an error nothing is written.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<std::uint64_t> integer_weights(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                                    std::span<std::uint32_t> weights) noexcept {
  if (const status why = detail::check_arguments(row, transform); !why.ok()) return why;
  if (transform.truncation.active()) return detail::row_error(errc::unsupported);
  if (weights.size() < row.valid_size()) return detail::row_error(errc::output_too_small);
  const detail::kept_subnormals order;
  const kernel::row_source<Scalar> source = detail::open(row, transform);
  const auto found = kernel::find_maximum(policy, source);
  if (const status why = detail::check_values(
          source, found, source.probabilities ? kernel::exact_sum(policy, source, {0, 1, true}) : 1.0);
      !why.ok())
    return why;
  if (transform.greedy()) {
    for (std::uint32_t id = 0; id < source.size; ++id) weights[id] = id == found.argmax ? kernel::weight_one : 0;
    return std::uint64_t{kernel::weight_one};
  }
  return detail::sum_weights(policy, source,
                             detail::weights_of(source, static_cast<double>(found.maximum), transform.temperature),
                             weights.data());
}

SPECVERIFY_NAMESPACE_END

#endif
