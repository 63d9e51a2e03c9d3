// SPDX-License-Identifier: Apache-2.0
//! Computes the probability of one token of a row at many temperatures, bounds on it, or draws at those temperatures.
//!
//! Sums that are known at a few temperatures bound the probability at all others. If the bounds do not decide a draw,
//! the row is read at the temperature of the draw, which gives closer bounds.
//! Symbols:    p_t(v) = e^(z_v / t) / sum over the row, z = the logits after bias and mask. A temperature below 1e-6
//!             means the point mass at the argmax. The transform's temperature and truncation have no effect.
//! Test:       a draw at temperature t gives the token iff uniform < p_t(token). Other drawn tokens are never computed.
//! Guarantees: decisions equal exact arithmetic outside a relative margin of 1e-12 (near-tie); probabilities have a
//!             relative error below 1e-13; bounds always contain the probability. No allocation; noexcept. Twenty tests
//!             need 0.1 to 0.5 further reads on average, if the reading has 64 top entries and at least half of the
//!             highest temperature. Any other reading gives the same results, but more slowly.
//! Cost:       at most O(V) per temperature. `tempered_probabilities` reads the row once per temperature.
//! See:        docs/algorithms/tempered.md, tests/unit/row/tempered_test.cpp, benchmarks/bench_tempered.cpp
#ifndef SPECVERIFY_ROW_TEMPERED_HPP
#define SPECVERIFY_ROW_TEMPERED_HPP

#include <specverify/row/detail/tempered.hpp>
#include <specverify/row/reading.hpp>

#include <span>

SPECVERIFY_TYPES_BEGIN

//! Number of reads of the row after the read that made the reading.
struct tempered_reads {
  std::uint32_t quick = 0;  //!< temperatures that the bounds did not decide
  std::uint32_t exact = 0;  //!< temperatures that a sum in float did not decide either

  SPECVERIFY_INLINE constexpr tempered_reads& operator+=(const tempered_reads& other) noexcept {
    quick += other.quick;
    exact += other.exact;
    return *this;
  }
};

struct tempered_hits {
  std::uint32_t hits = 0;  //!< number of draws that give the token
  tempered_reads reads{};
};

//! Bounds on a probability: lower <= p <= upper.
struct probability_bounds {
  double lower = 0;
  double upper = 1;
};

struct tempered_intervals {
  std::span<probability_bounds> bounds{};  //!< bounds on the probability, indexed by temperature
  tempered_reads reads{};
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
    if (!is_temperature(temperatures[m])) return row_error(errc::invalid_temperature, static_cast<std::uint32_t>(m));
  }
  return {};
}

//! The requested tests of one token, at up to `temper_group` temperatures that are not point masses.
struct tempered_question {
  std::uint32_t count = 0;
  double inverses[temper_group];
  double weights[temper_group];  // e^((z - maximum) / t) of the token
  double sums[temper_group];     // sums of the top entries

  void add(double temperature, double difference) noexcept {
    inverses[count] = 1.0 / temperature;
    weights[count] = kernel::exponential(difference * inverses[count]);
    sums[count++] = 0;
  }
};

inline constexpr double exact_slack = 1e-12;

//! A row whose bounds tighten with every read.
template <class Policy, class Scalar>
class tempered_reader {
 public:
  explicit tempered_reader(const opened_row<Policy, Scalar>& row) noexcept : row_(row), rest_(row_.rest()) {}

  [[nodiscard]] const tempered_row<Policy, Scalar>& row() const noexcept { return row_; }
  [[nodiscard]] const tempered_reads& reads() const noexcept { return reads_; }

  //! Returns whether drawn * Z < weight at temperature m of a request. Call it only if the sum of the top entries does
  //! not decide this.
  [[nodiscard]] bool is_hit(const tempered_question& asked, std::uint32_t m, double drawn) noexcept {
    const double inverse = asked.inverses[m], weight = asked.weights[m], sum = asked.sums[m];
    const bracket rest = rest_.at(inverse);
    tempered_answer found = answer_within(weight, drawn, {sum + rest.lower, sum + rest.upper});
    if (found != tempered_answer::open) return found == tempered_answer::hit;
    const double total = read_at(inverse, sum);
    found = answer_within(weight, drawn, {total, total});
    if (found != tempered_answer::open) return found == tempered_answer::hit;
    ++reads_.exact;
    return drawn * row_.exact(inverse) < weight;
  }

  //! Bounds p at every temperature of a request. Reads the row at the temperature with the widest bounds, until the
  //! widths sum to at most `most` or all bounds are exact.
  void narrow(const tempered_question& asked, double most, std::span<probability_bounds> out) noexcept {
    bracket totals[temper_group];
    bool exact[temper_group] = {};
    for (;;) {
      double width = 0;
      std::uint32_t widest = temper_group;
      for (std::uint32_t m = 0; m < asked.count; ++m) {
        out[m] = bounds(asked, m, totals[m]);
        width += out[m].upper - out[m].lower;
        if (exact[m]) continue;
        if (widest == temper_group || out[m].upper - out[m].lower > out[widest].upper - out[widest].lower) widest = m;
      }
      if (width <= most || widest == temper_group) return;
      const double inverse = asked.inverses[widest];
      exact[widest] = totals[widest].upper > 0.0;  // a read in float already took place
      const double total = exact[widest] ? row_.exact(inverse) : read_at(inverse, asked.sums[widest]);
      const double slack = total * (exact[widest] ? exact_slack : tempered_slack);
      totals[widest] = {total - slack, total + slack};
      reads_.exact += exact[widest] ? 1u : 0u;
    }
  }

 private:
  //! Computes Z by a quick read, which adds a node to the bounds on the sum of the other entries. `sum`: the sum of the
  //! top entries.
  [[nodiscard]] double read_at(double inverse, double sum) noexcept {
    const double total = row_.quick(inverse);
    rest_.learn_total(inverse, total, sum);
    ++reads_.quick;
    return total;
  }
  //! Returns bounds on p, from the bounds on Z if a read gave any, otherwise from the bounds on the other entries.
  [[nodiscard]] probability_bounds bounds(const tempered_question& asked, std::uint32_t m,
                                          bracket total) const noexcept {
    constexpr double flushed = 1e-304;  // weights below e^-700 are 0
    if (!(total.upper > 0.0)) {
      const bracket rest = rest_.at(asked.inverses[m]);
      total = {(asked.sums[m] + rest.lower) * (1.0 - tempered_slack),
               (asked.sums[m] + rest.upper) * (1.0 + tempered_slack)};
    }
    const double weight = asked.weights[m];
    return {weight * (1.0 - exact_slack) / total.upper,
            (weight * (1.0 + exact_slack) + flushed) / (total.lower > 1.0 ? total.lower : 1.0)};
  }

  tempered_row<Policy, Scalar> row_;
  tempered_rest rest_;
  tempered_reads reads_{};
};

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
  tempered_reader<Policy, Scalar> reader(row);
  const double difference = reader.row().difference(token);
  tempered_hits found;
  for (std::size_t next = 0; next < temperatures.size();) {
    tempered_question asked;
    double uniforms[temper_group];
    for (; next < temperatures.size() && asked.count < temper_group; ++next) {
      if (temperatures[next] < coldest) {
        found.hits += token == row.digest.argmax ? 1u : 0u;
        continue;
      }
      uniforms[asked.count] = drawn[next];
      asked.add(temperatures[next], difference);
    }
    reader.row().add_top_entries(asked.inverses, asked.count, asked.sums);
    for (std::uint32_t m = 0; m < asked.count; ++m) {
      const double weight = asked.weights[m];  // the top entries may already decide
      if (!(weight > 0.0) || uniforms[m] * asked.sums[m] * (1.0 - tempered_slack) >= weight) continue;
      found.hits += reader.is_hit(asked, m, uniforms[m]) ? 1u : 0u;
    }
  }
  found.reads = reader.reads();
  return found;
}

template <class Policy, class Scalar>
[[nodiscard]] inline result<tempered_intervals> bound_tempered(const opened_row<Policy, Scalar>& row, token_id token,
                                                               std::span<const double> temperatures, double width,
                                                               std::span<probability_bounds> out) noexcept {
  if (const status why = check_tempered(row, token, temperatures); !why.ok()) return why;
  if (!kernel::is_finite(width) || width < 0.0) return row_error(errc::invalid_argument);
  if (out.size() < temperatures.size()) return row_error(errc::output_too_small);
  tempered_reader<Policy, Scalar> reader(row);
  const double difference = reader.row().difference(token);
  for (std::size_t next = 0; next < temperatures.size();) {
    tempered_question asked;
    std::size_t places[temper_group];
    for (; next < temperatures.size() && asked.count < temper_group; ++next) {
      if (temperatures[next] < coldest) {
        const double sure = token == row.digest.argmax ? 1.0 : 0.0;
        out[next] = {sure, sure};
        continue;
      }
      places[asked.count] = next;
      asked.add(temperatures[next], difference);
    }
    reader.row().add_top_entries(asked.inverses, asked.count, asked.sums);
    probability_bounds found[temper_group];
    reader.narrow(asked, width * asked.count, found);
    for (std::uint32_t m = 0; m < asked.count; ++m) out[places[m]] = found[m];
  }
  return tempered_intervals{out.first(temperatures.size()), reader.reads()};
}

template <class Policy, class Scalar>
[[nodiscard]] inline result<std::span<double>> write_tempered(const opened_row<Policy, Scalar>& row, token_id token,
                                                              std::span<const double> temperatures,
                                                              std::span<double> out) noexcept {
  if (const status why = check_tempered(row, token, temperatures); !why.ok()) return why;
  if (out.size() < temperatures.size()) return row_error(errc::output_too_small);
  const tempered_row<Policy, Scalar> opened(row);
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

//! Counts how many of M draws give `token`; draw m is at temperature m and uses the uniform drawn[m].
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

//! Writes p_t(token) for every temperature to `out` and returns the filled part.
//! Errors: as for `tempered_draws`, but without invalid_argument and size_mismatch; output_too_small. On an error
//!         nothing is written.
template <class Policy, class Scalar>
[[nodiscard]] result<std::span<double>> tempered_probabilities(const row_reading<Policy, Scalar>& row, token_id token,
                                                               std::span<const double> temperatures,
                                                               std::span<double> out) noexcept {
  if (row.expired()) return detail::row_error(errc::reading_expired);
  return detail::write_tempered(reading_access::open(row), token, temperatures, out);
}

//! Writes bounds on p_t(token) for every temperature to `out` and returns the filled part. Reads the row at the
//! temperatures with the widest bounds until the mean width is at most `width`. If `width` is too small even for exact
//! sums, the bounds are 4e-12 p wide.
//! Errors: as for `tempered_probabilities`; invalid_argument (a width below 0 or not finite).
template <class Policy, class Scalar>
[[nodiscard]] result<tempered_intervals> tempered_bounds(const row_reading<Policy, Scalar>& row, token_id token,
                                                         std::span<const double> temperatures, double width,
                                                         std::span<probability_bounds> out) noexcept {
  if (row.expired()) return detail::row_error(errc::reading_expired);
  return detail::bound_tempered(reading_access::open(row), token, temperatures, width, out);
}

SPECVERIFY_NAMESPACE_END

#endif
