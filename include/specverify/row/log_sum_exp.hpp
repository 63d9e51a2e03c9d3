// SPDX-License-Identifier: Apache-2.0
//! Computes the natural logarithm of the sum of e^(z_v / T) over the logits z_v of a row at temperature T.
//!
//! For a row of probabilities, it computes the logarithm of their sum.
//! Guarantees: absolute error below 1e-14 + 2^-53 V / 256 + 2^-51 |result| under exec::seq and for double rows; below
//!             2e-6 + 2^-51 |result| under exec::simd for other rows. Near-tie: within these errors, results can differ
//!             between backends. O(V): reads the row twice, or usually once under exec::simd with AVX2 or AVX-512; no
//!             allocation; noexcept.
//! See:        docs/algorithms/log_sum_exp.md, kernel/scalar/log_sum_exp.hpp, tests/unit/row/log_sum_exp_test.cpp,
//!             benchmarks/bench_log_sum_exp.cpp
#ifndef SPECVERIFY_ROW_LOG_SUM_EXP_HPP
#define SPECVERIFY_ROW_LOG_SUM_EXP_HPP

#include <specverify/row/detail/open.hpp>

SPECVERIFY_NAMESPACE_BEGIN

//! Errors: as for `read_row`, except errors of the request or the workspace; invalid_temperature also for a temperature
//!         below 1e-6; unsupported (a truncation).
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<double> log_sum_exp(Policy policy, row_view<Scalar> row, const row_transform& transform) noexcept {
  if (const status why = detail::check_arguments(row, transform); !why.ok()) return why;
  if (transform.truncation.active()) return detail::row_error(errc::unsupported);
  if (transform.greedy()) return detail::row_error(errc::invalid_temperature);
  const kernel::row_source<Scalar> source = detail::open(row, transform);
  const double inverse = 1.0 / transform.temperature;
  double reference = 0;
  if (const double sum = kernel::one_read_sum(policy, source, inverse, reference); sum > 0.0)
    return kernel::logarithm(sum) + reference * inverse;
  const auto found = kernel::find_maximum(policy, source);
  const auto maximum = static_cast<double>(found.maximum);
  const kernel::exact_weight weight{maximum, inverse, source.probabilities};
  if (const status why = detail::check_values(source, found); !why.ok()) return why;
  const double sum = kernel::quick_sum(policy, source, weight);
  if (const status why = detail::check_values(source, found, sum); !why.ok()) return why;
  return kernel::logarithm(sum) + (source.probabilities ? 0.0 : maximum / transform.temperature);
}

SPECVERIFY_NAMESPACE_END

#endif
