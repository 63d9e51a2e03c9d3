// SPDX-License-Identifier: Apache-2.0
//! Computes the natural logarithm of one token's probability.
//!
//! Symbols:    log p(v) = (z_v - reference) / T - log Z, or log(p_v / Z) for a row of probabilities, as in
//!             row/digest.hpp.
//! Guarantees: absolute error below 1e-14 + 2^-53 V / 256 + 2^-51 |log p|, or twice this bound under -ffast-math;
//!             -infinity if p = 0. O(V) once per reading, because Z is then cached; afterwards O(1).
//! See:        docs/algorithms/log_probability.md, tests/unit/row/log_probability_test.cpp
#ifndef SPECVERIFY_ROW_LOG_PROBABILITY_HPP
#define SPECVERIFY_ROW_LOG_PROBABILITY_HPP

#include <specverify/row/detail/normaliser.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Implements `row_reading::log_probability`. Errors: token_out_of_range.
template <class Policy, class Scalar>
[[nodiscard]] inline result<double> log_probability(const opened_row<Policy, Scalar>& row, token_id token) noexcept {
  if (!row.has(token)) return row_error(errc::token_out_of_range);
  const row_digest& digest = row.digest;
  const double value = row.value(token);
  const bool probabilities = row.source.probabilities;
  bool possible =
      digest.one_hot ? token == digest.argmax : (probabilities ? value > 0.0 : !kernel::is_negative_infinity(value));
  if (digest.truncated)
    possible = find_kept(row.base.template at<token_id>(digest.kept_ids), token) < digest.kept_ids.count;
  if (!possible) return kernel::negative_infinity<double>();
  if (digest.one_hot) return 0.0;
  const double total = exact_normaliser(row);
  return probabilities ? numeric::log(value / total)
                       : (value - digest.reference) / digest.temperature - numeric::log(total);
}

//! Implements `row_reading::acceptance_probability`, the sum of min(p, q) over the ids of q.
template <class Policy, class Scalar, class Law>
[[nodiscard]] inline result<double> acceptance_probability(const opened_row<Policy, Scalar>& row,
                                                           const Law& drawn_from) noexcept {
  double sum = 0;
  const auto add = [&](token_id id, std::uint32_t count) {
    if (count == 0 || static_cast<std::uint32_t>(id) >= row.digest.valid_size) return status{};
    const result<double> log_p = log_probability(row, id);
    if (!log_p.ok()) return log_p.error();
    const double p = numeric::exp(log_p.value());
    const double q = static_cast<double>(count) / static_cast<double>(drawn_from.resolution);
    sum += p < q ? p : q;
    return status{};
  };
  if (drawn_from.tail_count == 0) {
    for (std::uint32_t i = 0; i < drawn_from.size; ++i) {
      if (const status why = add(drawn_from.ids[i], drawn_from.counts[i]); !why.ok()) return why;
    }
  } else {
    for (std::uint32_t v = 0; v < drawn_from.vocab_size; ++v) {
      const auto id = static_cast<token_id>(v);
      if (const status why = add(id, drawn_from.count(id)); !why.ok()) return why;
    }
  }
  return sum;
}

}  // namespace detail

SPECVERIFY_NAMESPACE_END

#endif
