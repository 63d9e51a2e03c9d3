// SPDX-License-Identifier: Apache-2.0
//! Tests whether a sample follows a distribution, with Pearson's chi-square test. Also computes p-values and the power
//! of the test, and tests independence.
//!
//! Paper:      Pearson 1900; p-values from the incomplete gamma function, the power from the noncentral chi-square
//!             distribution.
//! Symbols:    n = number of draws; p_i, p'_i = expected and actual probability of cell i; o_i = its observed count;
//!             X^2 = sum (o_i - n p_i)^2 / (n p_i); lambda = n sum (p'_i - p_i)^2 / p_i.
//! Guarantees: O(cells); no allocation. The relative error of p-values is about 1e-9 for up to 10^6 cells.
//! Deviates:   cells with n p_i < min_expected become one cell. If this cell is still rare, it joins the smallest other
//!             cell.
//! See:        docs/algorithms/chi_square.md, tests/unit/testing/chi_square_test.cpp
#ifndef SPECVERIFY_TESTING_CHI_SQUARE_HPP
#define SPECVERIFY_TESTING_CHI_SQUARE_HPP

#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_TYPES_BEGIN

struct chi_square_options {
  double min_expected = 5.0;  //!< cells with a smaller expected count are merged; must be > 0
};

struct chi_square_result {
  double statistic = 0;
  //! probability that draws from the distribution give a statistic at least this large
  double p_value = 1;
  std::uint32_t degrees_of_freedom = 0;  //!< cells - 1; (rows - 1)(columns - 1) for independence
  std::uint32_t cells = 0;               //!< number of cells after merging
  std::uint64_t draws = 0;
  std::uint64_t impossible = 0;  //!< draws in cells with probability 0; if there are any, the p-value is 0
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the probability that a chi-square variable exceeds x = `statistic`: the regularized upper incomplete gamma
//! function Q(d / 2, x / 2), with d = `degrees_of_freedom`.
[[nodiscard]] inline double chi_square_tail(double statistic, double degrees_of_freedom) noexcept {
  const double a = degrees_of_freedom / 2, x = statistic / 2;
  if (a <= 0 || x <= 0) return 1;
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {  // series of the lower incomplete gamma function
    double term = 1 / a, sum = term;
    for (int i = 1; i < 1000000 && term > sum * 1e-17; ++i) {
      term *= x / (a + i);
      sum += term;
    }
    const double lower = front * sum;
    return lower < 1 ? 1 - lower : 0;
  }
  // Continued fraction of the upper incomplete gamma function, by Lentz's method.
  constexpr double tiny = 1e-290;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int i = 1; i < 1000000; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = numerator * d + b;
    if (std::fabs(d) < tiny) d = tiny;
    c = b + numerator / c;
    if (std::fabs(c) < tiny) c = tiny;
    d = 1 / d;
    const double step = d * c;
    h *= step;
    if (std::fabs(step - 1) < 1e-15) break;
  }
  return front * h;
}

//! Returns the statistic whose tail probability is `level`, by bisection. `level` must be in (0, 1).
[[nodiscard]] inline double chi_square_critical(double degrees_of_freedom, double level) noexcept {
  double low = 0, high = degrees_of_freedom + 1;
  while (chi_square_tail(high, degrees_of_freedom) > level && high < 1e9) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (chi_square_tail(middle, degrees_of_freedom) > level ? low : high) = middle;
  }
  return high;
}

namespace detail {

//! Checks the arguments of a test with `cells` cells, and returns the sum of `law`, which must be within 1e-3 of 1.
[[nodiscard]] inline result<double> check_cells(std::size_t cells, std::span<const double> law, double draws,
                                                chi_square_options options) noexcept {
  if (cells != law.size()) return status{errc::size_mismatch, part::host, 0};
  if (!(options.min_expected > 0)) return status{errc::invalid_argument, part::host, 0};
  if (!(draws > 0)) return status{errc::invalid_argument, part::host, 1};
  double total = 0;
  for (std::size_t i = 0; i < law.size(); ++i) {
    if (law[i] < 0) return status{errc::row_is_negative, part::host, static_cast<std::uint32_t>(i)};
    total += law[i];
  }
  if (!(total > 0.999 && total < 1.001)) return status{errc::row_not_normalised, part::host, 0};
  return total;
}

//! Sums (value_i scale - n p_i)^2 / (n p_i) over the merged cells, where n = `draws`. value_i scale is a count, or the
//! expected count under another distribution.
template <class Value>
[[nodiscard]] result<chi_square_result> chi_square_cells(std::span<const Value> values, std::span<const double> law,
                                                         double draws, double scale,
                                                         chi_square_options options) noexcept {
  const result<double> total = check_cells(values.size(), law, draws, options);
  if (!total) return total.error();
  double rare_expected = 0, rare_value = 0, smallest_expected = 0, smallest_value = 0;
  chi_square_result found;
  const auto add = [&](double value, double expected) {
    found.statistic += (value - expected) * (value - expected) / expected;
    ++found.cells;
  };
  for (std::size_t i = 0; i < law.size(); ++i) {
    const double expected = draws * law[i] / *total, value = static_cast<double>(values[i]) * scale;
    if (law[i] <= 0) {
      if (value > 0) found.impossible += scale < 1 || value < 1 ? 1 : static_cast<std::uint64_t>(value);
    } else if (expected < options.min_expected) {
      rare_expected += expected;
      rare_value += value;
      // keep the smallest cell until the end, because the merged rare cells may have to join it
    } else if (smallest_expected <= 0 || expected < smallest_expected) {
      if (smallest_expected > 0) add(smallest_value, smallest_expected);
      smallest_expected = expected;
      smallest_value = value;
    } else {
      add(value, expected);
    }
  }
  if (rare_expected >= options.min_expected || smallest_expected <= 0) {
    if (rare_expected > 0) add(rare_value, rare_expected);
    if (smallest_expected > 0) add(smallest_value, smallest_expected);
  } else {
    add(smallest_value + rare_value, smallest_expected + rare_expected);
  }
  found.degrees_of_freedom = found.cells - 1;
  found.draws = static_cast<std::uint64_t>(draws);
  return found;
}

}  // namespace detail

//! Compares the counts of the cells with a distribution. `law` must sum to 1 within 1e-3; it is then normalized.
//! Errors: size_mismatch, invalid_argument (min_expected, no draws), row_is_negative, row_not_normalised.
[[nodiscard]] inline result<chi_square_result> chi_square(std::span<const std::uint64_t> observed,
                                                          std::span<const double> law,
                                                          chi_square_options options = {}) noexcept {
  std::uint64_t draws = 0;
  for (const std::uint64_t count : observed) draws += count;
  result<chi_square_result> found = detail::chi_square_cells(observed, law, static_cast<double>(draws), 1.0, options);
  if (!found) return found;
  found->draws = draws;
  found->p_value = found->impossible > 0 ? 0 : chi_square_tail(found->statistic, found->degrees_of_freedom);
  return found;
}

//! Returns the power of the test: the probability that the p-value is below `level` if `draws` draws from `actual` are
//! tested against `law`. Errors: as for `chi_square`; invalid_argument also if `level` is outside (0, 1).
[[nodiscard]] inline result<double> chi_square_power(std::span<const double> law, std::span<const double> actual,
                                                     std::uint64_t draws, double level,
                                                     chi_square_options options = {}) noexcept {
  if (!(level > 0 && level < 1)) return status{errc::invalid_argument, part::host, 2};
  double total = 0;
  for (const double mass : actual) total += mass;
  if (!(total > 0.999 && total < 1.001)) return status{errc::row_not_normalised, part::host, 1};
  const auto n = static_cast<double>(draws);
  const result<chi_square_result> shift = detail::chi_square_cells(actual, law, n, n / total, options);
  if (!shift) return shift.error();
  if (shift->impossible > 0) return 1.0;
  if (shift->degrees_of_freedom == 0) return 0.0;
  // The noncentral chi-square distribution is a Poisson(lambda / 2) mixture of chi-square distributions with d + 2 j
  // degrees of freedom.
  const double critical = chi_square_critical(shift->degrees_of_freedom, level), half = shift->statistic / 2;
  const double reach = 12 * std::sqrt(half) + 40;
  double sum = 0;
  for (double j = half > reach ? std::floor(half - reach) : 0; j <= half + reach; ++j) {
    const double weight = half > 0 ? std::exp(j * std::log(half) - half - std::lgamma(j + 1)) : (j > 0 ? 0.0 : 1.0);
    sum += weight * chi_square_tail(critical, shift->degrees_of_freedom + 2 * j);
  }
  return sum < 1 ? sum : 1.0;
}

//! Tests whether two outcomes are independent. `table` contains rows * width joint counts, row by row. Empty rows and
//! columns are ignored, because the expected counts there are 0.
//! Errors: size_mismatch (rows or width is 0, or rows * width is not the size of the table); invalid_argument (the
//! expected count of a cell is below min_expected, so merge outcomes first; or all counts are 0).
[[nodiscard]] inline result<chi_square_result> chi_square_independence(std::span<const std::uint64_t> table,
                                                                       std::uint32_t rows, std::uint32_t width,
                                                                       chi_square_options options = {}) noexcept {
  if (rows == 0 || width == 0 || table.size() != std::size_t{rows} * width)
    return status{errc::size_mismatch, part::host, 0};
  chi_square_result found;
  for (const std::uint64_t count : table) found.draws += count;
  if (found.draws == 0) return status{errc::invalid_argument, part::host, 1};
  std::uint32_t live_rows = 0, live_columns = 0;
  for (std::uint32_t column = 0; column < width; ++column) {
    std::uint64_t sum = 0;
    for (std::uint32_t row = 0; row < rows; ++row) sum += table[std::size_t{row} * width + column];
    live_columns += sum > 0 ? 1u : 0u;
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::uint64_t row_sum = 0;
    for (std::uint32_t column = 0; column < width; ++column) row_sum += table[std::size_t{row} * width + column];
    if (row_sum == 0) continue;
    ++live_rows;
    for (std::uint32_t column = 0; column < width; ++column) {
      std::uint64_t column_sum = 0;
      for (std::uint32_t other = 0; other < rows; ++other) column_sum += table[std::size_t{other} * width + column];
      if (column_sum == 0) continue;
      const double expected =
          static_cast<double>(row_sum) * static_cast<double>(column_sum) / static_cast<double>(found.draws);
      if (expected < options.min_expected) return status{errc::invalid_argument, part::host, row * width + column};
      const double gap = static_cast<double>(table[std::size_t{row} * width + column]) - expected;
      found.statistic += gap * gap / expected;
      ++found.cells;
    }
  }
  found.degrees_of_freedom = (live_rows - 1) * (live_columns - 1);
  found.p_value = chi_square_tail(found.statistic, found.degrees_of_freedom);
  return found;
}

SPECVERIFY_NAMESPACE_END

#endif
