// SPDX-License-Identifier: Apache-2.0
//! Writes the distributions of a batch's rows as floats, with Thrust.
//!
//! Use it if code outside the library needs probabilities. No earlier `read_rows` is needed, because the call uses no
//! digests.
//! Guarantees: three reads and one write per row. The floats equal the results of exec::seq bit for bit, for any flags
//!             of nvcc. Temporary memory: docs/algorithms/device.md.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_rows_test.cpp
#ifndef SPECVERIFY_DEVICE_SOFTMAX_HPP
#define SPECVERIFY_DEVICE_SOFTMAX_HPP

#include <specverify/device/detail/whole_row.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Computes the reciprocal of a row's sum, and the row's status.
template <class Scalar>
struct invert_sum {
  topped_rows<Scalar> all;
  const double* terms;
  std::uint32_t count;
  double* inverses;
  status* out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    out[r] = all.top(r).why;
    if (out[r].ok()) inverses[r] = 1.0 / sum_of_terms(terms + r * count, count);
  }
};

template <class Scalar>
struct write_probability {
  topped_rows<Scalar> all;
  const double* inverses;
  device_probabilities out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t r = i / all.rows.size;
    if (!out.rows[r].ok()) return;
    const auto id = static_cast<std::uint32_t>(i % all.rows.size);
    float& place = out.values[r * out.pitch + id];
    if (is_greedy(all.temperature(r))) {
      place = id == id_of_key(all.tops[r]) ? 1.0f : 0.0f;
    } else {
      const kernel::exact_weight weight = all.exact(r, all.top(r));
      place = static_cast<float>(weight(static_cast<double>(all.open(r).value(id))) * inverses[r]);
    }
  }
};

template <class Policy, class Scalar>
void write_softmax(const Policy& policy, const device_rows<Scalar>& rows, const device_transform& transform,
                   const device_probabilities& out) {
  const std::uint32_t count = exact_terms(rows.size);
  const temporary<std::uint64_t, Policy> tops(policy, rows.count);
  const temporary<double, Policy> terms(policy, std::size_t{rows.count} * count), inverses(policy, rows.count);
  const auto all = find_tops(policy, rows, transform, tops.data());
  for_each_index(policy, std::size_t{rows.count} * count, term_of_row<Scalar>{all, terms.data(), count});
  for_each_index(policy, rows.count, invert_sum<Scalar>{all, terms.data(), count, inverses.data(), out.rows});
  for_each_index(policy, std::size_t{rows.count} * rows.size, write_probability<Scalar>{all, inverses.data(), out});
}

}  // namespace thrust_detail

//! Writes the distributions of all rows. A row with an error gets no values.
//! Errors of the call: errors of `make_device_batch` for rows and transform; unsupported (a truncation), null_span,
//! output_too_small (pitch below `where` = row size); engine_failed.
//! Errors of a row: row_has_nan, row_has_positive_infinity, row_is_empty, invalid_temperature, invalid_truncation,
//! unsupported.
template <class Policy, class Scalar>
[[nodiscard]] status softmax(const exec::thrust_on<Policy>& how, const device_rows<Scalar>& rows,
                             const device_transform& transform, const device_probabilities& out) noexcept {
  if (const status why = thrust_detail::check_whole_rows(rows, transform); !why.ok()) return why;
  if (out.rows == nullptr || out.values == nullptr) return device_detail::refusal(errc::null_span);
  if (out.pitch < rows.size) return device_detail::refusal(errc::output_too_small, rows.size);
  return thrust_detail::guarded([&] {
    thrust_detail::write_softmax(how.policy, rows, transform, out);
    return status{};
  });
}

SPECVERIFY_DEVICE_END

#endif
