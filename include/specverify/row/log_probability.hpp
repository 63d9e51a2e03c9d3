// SPDX-License-Identifier: Apache-2.0
//! The natural logarithm of one token's probability. The only operation that asks for the exact normaliser without
//! being undecided.
//!
//! Symbols:    log p(v) = (z_v - reference) / T - log Z; rows of probabilities: log(p_v / Z).
//! Guarantees: absolute error 1e-14 + 2^-51 |log p| for double rows; -infinity when p = 0; O(V) once per digest (the
//!             normaliser is cached), then O(1).
//! See:        docs/algorithms/log_probability.md, tests/unit/row/log_probability_test.cpp
#ifndef SPECVERIFY_ROW_LOG_PROBABILITY_HPP
#define SPECVERIFY_ROW_LOG_PROBABILITY_HPP

#include <specverify/row/detail/normaliser.hpp>

#include <cmath>

SPECVERIFY_NAMESPACE_BEGIN

//! Errors: token_out_of_range, invalid_argument (an empty digest), null_span, size_mismatch (another row). On error
//!         `out` stays as it was.
template <execution_policy Policy, class Scalar>
[[nodiscard]] status log_probability(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                     const row_digest& from, const workspace& space, token_id token,
                                     double& out) noexcept {
  const status checked = detail::check_row(row, from);
  if (!checked.ok()) return checked;
  if (token < 0 || static_cast<std::uint32_t>(token) >= from.valid_size)
    return detail::row_error(errc::token_out_of_range);
  const kernel::row_source<Scalar> source = detail::open(row, transform);
  const auto value = static_cast<double>(source.value(static_cast<std::uint32_t>(token)));
  bool possible =
      from.one_hot ? token == from.argmax : (source.probabilities ? value > 0.0 : !kernel::is_negative_infinity(value));
  if (from.truncated) possible = detail::find_kept(space.at<token_id>(from.kept_ids), token) < from.kept_ids.count;
  if (!possible) {
    out = kernel::negative_infinity<double>();
  } else if (from.one_hot) {
    out = 0.0;
  } else {
    const double total = detail::exact_normaliser(policy, source, from, space);
    out =
        source.probabilities ? std::log(value / total) : (value - from.reference) / from.temperature - std::log(total);
  }
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
