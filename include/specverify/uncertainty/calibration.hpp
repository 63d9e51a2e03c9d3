// SPDX-License-Identifier: Apache-2.0
//! Fits the rejection probability to the uncertainty of drafts, and computes thresholds and the risk of skipping.
//!
//! Use it to choose the threshold up to which a drafted token is skipped, for your own pair of models.
//! Paper:      HLM (arXiv 2505.11788), linear model, Theorem 1, thresholds and rejection risk.
//! Symbols:    u = j / M, the uncertainty if j of M samples disagree; beta ~ a u + b, the fit of the rejection
//!             probability; Delta = `rejectable`; u_th = threshold; beta_j, m_j = fit and share of the tokens at u = j
//!             / M; R = risk.
//! Guarantees: O(n); double; no allocation; noexcept. `risk` <= `risk_bound` always (Cauchy-Schwarz on the grid).
//! Deviates:   u is discrete, so risk and bound are sums. The paper's integral bound is a separate function, because it
//!             holds only for a density. R ignores tokens with u <= -b / a, but the measured `false_skip` counts them.
//!             Neither number bounds the other, so report both.
//! See:        docs/algorithms/calibration.md, tests/unit/uncertainty/calibration_test.cpp
#ifndef SPECVERIFY_UNCERTAINTY_CALIBRATION_HPP
#define SPECVERIFY_UNCERTAINTY_CALIBRATION_HPP

#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>
#include <specverify/kernel/scalar/exponential.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

SPECVERIFY_TYPES_BEGIN

struct linear_fit {
  double slope = 0.815;       //!< a; the default is from the paper's fit
  double intercept = -0.066;  //!< b
  double mean_squared_error = 0;
  double r_squared = 0;
};

struct uncertainty_thresholds {
  double risk_prone = 0;   //!< largest uncertainty at which the fit predicts a rejection probability of at most Delta
  double risk_averse = 0;  //!< largest uncertainty at which the fit predicts no rejection
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! The smallest of some values, and the difference between the largest and the smallest.
struct value_range {
  double least = 0;
  double width = 0;
  //! Returns the position of a value in the range, from 0 to 1.
  [[nodiscard]] SPECVERIFY_INLINE double share(double value) const noexcept {
    return width > 0.0 ? (value - least) / width : 0.0;
  }
};

[[nodiscard]] inline value_range range_of(std::span<const double> values) noexcept {
  double least = values[0], most = values[0];
  for (const double value : values) {
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  return {least, most - least};
}

//! Checks the points of a fit.
[[nodiscard]] inline status check_points(std::span<const double> uncertainty,
                                         std::span<const double> rejection) noexcept {
  constexpr auto failed = [](errc code, std::size_t where) noexcept {
    return status{code, part::uncertainty, static_cast<std::uint32_t>(where)};
  };
  const std::size_t size = uncertainty.size();
  if (rejection.size() != size) return failed(errc::size_mismatch, size);
  if (size < 2) return failed(errc::invalid_argument, size);
  for (std::size_t i = 0; i < size; ++i) {
    if (!kernel::is_finite(uncertainty[i]) || !kernel::is_finite(rejection[i]))
      return failed(errc::invalid_argument, i);
  }
  return {};
}

}  // namespace detail

//! Fits the rejection probability to the uncertainty by least squares. If all rejection probabilities are equal, the
//! slope is 0 and r_squared is 1. O(n).
//! Errors: size_mismatch (the spans differ in length), invalid_argument (fewer than 2 points, a value that is not
//!         finite, all uncertainties equal, or overflow).
[[nodiscard]] inline result<linear_fit> fit_linear(std::span<const double> uncertainty,
                                                   std::span<const double> rejection) noexcept {
  if (const status why = detail::check_points(uncertainty, rejection); !why.ok()) return why;
  const std::size_t size = uncertainty.size();
  // The values are scaled to their ranges. Then no square overflows, and equal values have a range of exactly 0. A sum
  // of squares around a rounded mean would not be exactly 0.
  const detail::value_range u = detail::range_of(uncertainty), beta = detail::range_of(rejection);
  if (!(u.width > 0.0) || !kernel::is_finite(u.width) || !kernel::is_finite(beta.width))
    return status{errc::invalid_argument, part::uncertainty, 0};
  const auto count = static_cast<double>(size);
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < size; ++i) {
    mean_x += u.share(uncertainty[i]) / count;
    mean_y += beta.share(rejection[i]) / count;
  }
  double spread_x = 0, spread_y = 0, shared = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double x = u.share(uncertainty[i]) - mean_x, y = beta.share(rejection[i]) - mean_y;
    spread_x += numeric::product(x, x);
    spread_y += numeric::product(y, y);
    shared += numeric::product(x, y);
  }
  const double slope = shared / spread_x;
  double left = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double gap = beta.share(rejection[i]) - mean_y - numeric::product(slope, u.share(uncertainty[i]) - mean_x);
    left += numeric::product(gap, gap);
  }
  linear_fit fit;
  fit.slope = slope * (beta.width / u.width);
  fit.intercept =
      beta.least + numeric::product(beta.width, mean_y - numeric::product(slope, mean_x + u.least / u.width));
  fit.mean_squared_error = left / count * beta.width * beta.width;
  fit.r_squared = beta.width > 0.0 ? 1.0 - left / spread_y : 1.0;
  for (const double value : {fit.slope, fit.intercept, fit.mean_squared_error})
    if (!kernel::is_finite(value)) return status{errc::invalid_argument, part::uncertainty, 0};
  return fit;
}

//! Returns the rejection probability according to the fit, limited to [0, 1].
[[nodiscard]] constexpr double expected_rejection(const linear_fit& fit, double uncertainty) noexcept {
  const double value = numeric::product(fit.slope, uncertainty) + fit.intercept;
  return value > 0.0 ? (value < 1.0 ? value : 1.0) : 0.0;
}

//! Returns (level - b) / a, the uncertainty at which the fit expects a rejection probability of `level`.
//! Errors: invalid_argument (a slope that is not positive, or a number that is not finite).
[[nodiscard]] inline result<double> threshold_for(const linear_fit& fit, double level) noexcept {
  if (!kernel::is_finite(fit.slope) || !kernel::is_finite(fit.intercept) || !kernel::is_finite(level) ||
      !(fit.slope > 0.0)) {
    return status{errc::invalid_argument, part::uncertainty, 0};
  }
  return (level - fit.intercept) / fit.slope;
}

//! Returns both thresholds. `rejectable`: Delta, the share of draft tokens that the target considers less likely than
//! the drafter does. Errors: as for `threshold_for`.
[[nodiscard]] inline result<uncertainty_thresholds> thresholds(const linear_fit& fit, double rejectable) noexcept {
  const result<double> prone = threshold_for(fit, rejectable);
  if (!prone.ok()) return prone.error();
  return uncertainty_thresholds{prone.value(), threshold_for(fit, 0.0).value()};
}

//! Returns the largest number of disagreements among M = `samples` that does not exceed the threshold u_th: floor(u_th
//! M + 1e-9), but at most M. Returns -1 if even 0 exceeds the threshold. A token is uncertain if its number of
//! disagreements exceeds the returned integer. If the threshold is not finite or `samples` is 0, the function returns
//! -1, so every token is uncertain.
[[nodiscard]] inline std::int64_t disagreement_limit(double uncertainty_threshold, std::uint32_t samples) noexcept {
  if (!kernel::is_finite(uncertainty_threshold) || samples == 0) return -1;
  const double limit = std::floor(numeric::product(uncertainty_threshold, static_cast<double>(samples)) + 1e-9);
  if (limit < 0.0) return -1;
  return limit < static_cast<double>(samples) ? static_cast<std::int64_t>(limit) : static_cast<std::int64_t>(samples);
}

namespace detail {

//! Calls `visit(beta_j, m_j)` for every j whose tokens are skipped and for which beta_j is positive.
template <class Visit>
inline void skipped_band(const linear_fit& fit, double uncertainty_threshold, std::span<const double> mass,
                         const Visit& visit) noexcept {
  if (mass.size() < 2) return;
  const auto samples = static_cast<std::uint32_t>(mass.size() - 1);
  const std::int64_t limit = disagreement_limit(uncertainty_threshold, samples);
  for (std::uint32_t j = 0; j <= samples && static_cast<std::int64_t>(j) <= limit; ++j) {
    const double beta =
        numeric::product(fit.slope, static_cast<double>(j)) / static_cast<double>(samples) + fit.intercept;
    if (beta > 0.0) visit(beta, mass[j]);
  }
}

}  // namespace detail

//! Returns R, the share of all tokens that are skipped although the target would reject them, as expected from the fit.
//! `mass[j]` = P(u = j / M), j in [0, M].
[[nodiscard]] inline double risk(const linear_fit& fit, double uncertainty_threshold,
                                 std::span<const double> mass) noexcept {
  double sum = 0;
  detail::skipped_band(fit, uncertainty_threshold, mass,
                       [&](double beta, double share) noexcept { sum += numeric::product(beta, share); });
  return sum;
}

//! Returns an upper bound on `risk`: sqrt(sum beta_j^2 * sum m_j^2), over the same j.
[[nodiscard]] inline double risk_bound(const linear_fit& fit, double uncertainty_threshold,
                                       std::span<const double> mass) noexcept {
  double betas = 0, shares = 0;
  detail::skipped_band(fit, uncertainty_threshold, mass, [&](double beta, double share) noexcept {
    betas += numeric::product(beta, beta);
    shares += numeric::product(share, share);
  });
  return std::sqrt(betas * shares);
}

//! Returns the paper's bound for a density f of u: Delta^(3/2) / sqrt(3 a) * sqrt(F), where F = `squared_density` is
//! the integral of f^2 over the skipped u. The risk of a sampled histogram may exceed this bound.
[[nodiscard]] inline double risk_bound_of_density(const linear_fit& fit, double rejectable,
                                                  double squared_density) noexcept {
  return rejectable * std::sqrt(rejectable / (3.0 * fit.slope) * squared_density);
}

//! Returns the measured cost of skipping: the mean over all tokens of the rejection probability if the token was
//! skipped, and of 0 otherwise. If `skipped[i]` is not 0, token i was skipped, that is, committed without verification.
//! If the lengths of the spans differ, only the common part counts.
[[nodiscard]] inline double false_skip(std::span<const std::uint8_t> skipped,
                                       std::span<const double> rejection) noexcept {
  const std::size_t size = skipped.size() < rejection.size() ? skipped.size() : rejection.size();
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += skipped[i] != 0 ? rejection[i] : 0.0;
  return size == 0 ? 0.0 : sum / static_cast<double>(size);
}

SPECVERIFY_NAMESPACE_END

#endif
