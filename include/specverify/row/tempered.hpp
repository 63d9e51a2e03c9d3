// SPDX-License-Identifier: Apache-2.0
//! One token under many temperatures of the same row: its probability, and whether draws at those temperatures would
//! give it.
//!
//! Symbols:    p_t(v) = e^(z_v / t) / sum over the row, z = the logits after bias and mask. A temperature below 1e-6 is
//!             the point mass at the argmax. The transform's own temperature and truncation play no part.
//! Test:       a draw at temperature t gives the token iff uniform < p_t(token). Of M draws only these M facts are
//!             made, never the tokens drawn.
//! Algorithm:  the survivors of the digest are summed exactly at every temperature; the rest is read once, into coarse
//!             sums at three inverse temperatures. The logarithm of such a sum is convex in the inverse temperature:
//!             chords bound it above, extended chords below, and beyond the last node it falls at least as fast as its
//!             largest entry. A test that the bracket leaves open reads the row again: quickly, and exactly where that
//!             is too close.
//! Guarantees: decisions equal exact arithmetic outside a relative margin of 1e-12 (near-tie); probabilities have a
//!             relative error below 1e-13. No allocation; noexcept. Tests: one read of the row and 0.03 to 0.2 further
//!             ones for 20 temperatures, when the digest holds about 256 survivors; with none they are as right and
//!             slower. Probabilities: one exact read per temperature.
//! See:        docs/algorithms/tempered.md, tests/unit/row/tempered_test.cpp, benchmarks/bench_tempered.cpp
#ifndef SPECVERIFY_ROW_TEMPERED_HPP
#define SPECVERIFY_ROW_TEMPERED_HPP

#include <specverify/row/detail/tempered.hpp>
#include <specverify/row/reading.hpp>

#include <span>

SPECVERIFY_TYPES_BEGIN

struct tempered_hits {
  std::uint32_t hits = 0;           //!< draws that give the token
  std::uint32_t further_reads = 0;  //!< tests that the bracket left open
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

template <class Policy, class Scalar>
[[nodiscard]] inline status check_tempered(const opened_row<Policy, Scalar>& row, token_id token,
                                           std::span<const double> temperatures) noexcept {
  if (row.source.probabilities) return row_error(errc::unsupported);
  if (!row.has(token)) return row_error(errc::token_out_of_range);
  for (std::size_t m = 0; m < temperatures.size(); ++m) {
    if (!kernel::is_finite(temperatures[m]) || temperatures[m] < 0.0)
      return row_error(errc::invalid_temperature, static_cast<std::uint32_t>(m));
  }
  return {};
}

inline constexpr double coldest = 1e-6;

//! Up to `temper_group` temperatures at once.
template <class Policy, class Scalar>
[[nodiscard]] inline tempered_hits test_group(const tempered_row<Policy, Scalar>& row, bool is_argmax,
                                              double difference, std::span<const double> temperatures,
                                              std::span<const double> uniforms) noexcept {
  tempered_hits found;
  double inverses[temper_group], weights[temper_group], drawn[temper_group], sums[temper_group];
  std::uint32_t count = 0;
  double highest = 0;
  for (std::size_t m = 0; m < temperatures.size(); ++m) {
    if (temperatures[m] < coldest) {
      found.hits += is_argmax ? 1u : 0u;
      continue;
    }
    highest = temperatures[m] > highest ? temperatures[m] : highest;
    inverses[count] = 1.0 / temperatures[m];
    weights[count] = kernel::exponential(difference * inverses[count]);
    drawn[count] = uniforms[m];
    sums[count++] = 0;
  }
  if (count == 0) return found;
  constexpr double margin = 2 * kernel::tempered_margin;
  row.add_survivors(inverses, count, sums);
  std::uint32_t open = 0;  // a partial sum may be too large already
  for (std::uint32_t m = 0; m < count; ++m) {
    if (!(weights[m] > 0.0) || drawn[m] * sums[m] * (1.0 - margin) >= weights[m]) continue;
    inverses[open] = inverses[m];
    weights[open] = weights[m];
    drawn[open] = drawn[m];
    sums[open++] = sums[m];
  }
  if (open == 0) return found;
  const tempered_rest rest = row.read_rest(highest);
  for (std::uint32_t m = 0; m < open; ++m) {
    const bracket bounds = rest.at(inverses[m]);
    if (drawn[m] * (sums[m] + bounds.upper) * (1.0 + margin) < weights[m]) {
      ++found.hits;
    } else if (drawn[m] * (sums[m] + bounds.lower) * (1.0 - margin) < weights[m]) {
      ++found.further_reads;
      const double total = drawn[m] * row.quick(inverses[m]);
      const bool close = total * (1.0 - margin) < weights[m] && total * (1.0 + margin) >= weights[m];
      found.hits += (close ? drawn[m] * row.exact(inverses[m]) : total) < weights[m] ? 1u : 0u;
    }
  }
  return found;
}

template <class Policy, class Scalar>
[[nodiscard]] inline result<tempered_hits> count_tempered(const opened_row<Policy, Scalar>& row, token_id token,
                                                          std::span<const double> temperatures,
                                                          std::span<const double> drawn) noexcept {
  if (const status why = check_tempered(row, token, temperatures); !why.ok()) return why;
  if (drawn.size() != temperatures.size()) return row_error(errc::size_mismatch);
  for (std::size_t m = 0; m < drawn.size(); ++m) {
    if (!kernel::is_finite(drawn[m]) || drawn[m] < 0.0 || drawn[m] >= 1.0)
      return row_error(errc::invalid_argument, static_cast<std::uint32_t>(m));
  }
  const tempered_row<Policy, Scalar> opened(row.policy, row.source, row.digest, row.base);
  const double difference = opened.difference(token);
  tempered_hits found;
  for (std::size_t first = 0; first < temperatures.size(); first += temper_group) {
    const std::size_t size = temperatures.size() - first < temper_group ? temperatures.size() - first : temper_group;
    const tempered_hits group = test_group(opened, token == row.digest.argmax, difference,
                                           temperatures.subspan(first, size), drawn.subspan(first, size));
    found.hits += group.hits;
    found.further_reads += group.further_reads;
  }
  return found;
}

template <class Policy, class Scalar>
[[nodiscard]] inline result<std::span<double>> write_tempered(const opened_row<Policy, Scalar>& row, token_id token,
                                                              std::span<const double> temperatures,
                                                              std::span<double> out) noexcept {
  if (const status why = check_tempered(row, token, temperatures); !why.ok()) return why;
  if (out.size() < temperatures.size()) return row_error(errc::output_too_small);
  const tempered_row<Policy, Scalar> opened(row.policy, row.source, row.digest, row.base);
  const double difference = opened.difference(token);
  for (std::size_t m = 0; m < temperatures.size(); ++m) {
    if (temperatures[m] < coldest) {
      out[m] = token == row.digest.argmax ? 1.0 : 0.0;
    } else {
      const double inverse = 1.0 / temperatures[m];
      out[m] = kernel::exponential(difference * inverse) / opened.exact(inverse);
    }
  }
  return out.first(temperatures.size());
}

}  // namespace detail

//! How many of M draws, one at every temperature with the uniform of the same index in `drawn`, give `token`.
//! Errors: reading_expired, invalid_argument (a uniform outside [0, 1), `where` = its index), size_mismatch (spans of
//!         different lengths), unsupported (a row of probabilities), token_out_of_range, invalid_temperature (`where` =
//!         index).
template <class Policy, class Scalar>
[[nodiscard]] result<tempered_hits> tempered_draws(const row_reading<Policy, Scalar>& row, token_id token,
                                                   std::span<const double> temperatures,
                                                   std::span<const double> drawn) noexcept {
  if (row.expired()) return detail::row_error(errc::reading_expired);
  return detail::count_tempered(reading_access::open(row), token, temperatures, drawn);
}

//! p_t(token) for every temperature: the filled part of `out`. Errors: those of `tempered_draws` but for the uniforms;
//! output_too_small. On error nothing is written.
template <class Policy, class Scalar>
[[nodiscard]] result<std::span<double>> tempered_probabilities(const row_reading<Policy, Scalar>& row, token_id token,
                                                               std::span<const double> temperatures,
                                                               std::span<double> out) noexcept {
  if (row.expired()) return detail::row_error(errc::reading_expired);
  return detail::write_tempered(reading_access::open(row), token, temperatures, out);
}

SPECVERIFY_NAMESPACE_END

#endif
