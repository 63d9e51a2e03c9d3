// SPDX-License-Identifier: Apache-2.0
//! Computes the log of the sum of e^(z_v / T) for each row of a batch, in nats, with Thrust. z_v are the row's logits
//! after bias and mask, and T is the temperature.
//!
//! Use it if an engine needs the normalizer of rows. No earlier `read_rows` is needed, because the call uses no
//! digests.
//! Guarantees: two reads per row. The value equals the result of exec::seq bit for bit, for any flags of nvcc.
//!             Temporary memory: docs/algorithms/device.md.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_rows_test.cpp
#ifndef SPECVERIFY_DEVICE_LOG_SUM_EXP_HPP
#define SPECVERIFY_DEVICE_LOG_SUM_EXP_HPP

#include <specverify/device/detail/whole_row.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

template <class Scalar>
struct write_log_sum {
  topped_rows<Scalar> all;
  const double* terms;
  std::uint32_t count;
  device_value* out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const row_top top = all.top(r);
    const double temperature = all.temperature(r);
    device_value found;
    found.why = is_usable_temperature(temperature) && is_greedy(temperature)
                    ? status{errc::invalid_temperature, part::row, 0}
                    : top.why;
    if (found.why.ok())
      found.value =
          kernel::logarithm(sum_of_terms(terms + r * count, count)) + static_cast<double>(top.maximum) / temperature;
    out[r] = found;
  }
};

}  // namespace thrust_detail

//! Writes the log-sum-exp of each row to `values`.
//! Errors of the call: errors of `make_device_batch` for rows and transform; unsupported (a truncation), null_span
//! (values); engine_failed.
//! Errors of a row: row_has_nan, row_has_positive_infinity, row_is_empty, invalid_temperature (also below 1e-6),
//! invalid_truncation, unsupported.
template <class Policy, class Scalar>
[[nodiscard]] status log_sum_exp(const exec::thrust_on<Policy>& how, const device_rows<Scalar>& rows,
                                 const device_transform& transform, device_value* values) noexcept {
  if (const status why = thrust_detail::check_whole_rows(rows, transform); !why.ok()) return why;
  if (values == nullptr) return device_detail::refusal(errc::null_span);
  return thrust_detail::guarded([&] {
    const std::uint32_t count = thrust_detail::exact_terms(rows.size);
    const thrust_detail::temporary<std::uint64_t, Policy> tops(how.policy, rows.count);
    const thrust_detail::temporary<double, Policy> terms(how.policy, std::size_t{rows.count} * count);
    const auto all = thrust_detail::find_tops(how.policy, rows, transform, tops.data());
    thrust_detail::for_each_index(how.policy, std::size_t{rows.count} * count,
                                  thrust_detail::term_of_row<Scalar>{all, terms.data(), count});
    thrust_detail::for_each_index(how.policy, rows.count,
                                  thrust_detail::write_log_sum<Scalar>{all, terms.data(), count, values});
    return status{};
  });
}

SPECVERIFY_DEVICE_END

#endif
