// SPDX-License-Identifier: Apache-2.0
#include <specverify/uncertainty/calibration.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace specverify;

TEST_CASE("T13 calibration: the paper's thresholds and the ratio of risk to its bound at a constant density") {
  const linear_fit fit;  // a = 0.815, b = -0.066
  const double rejectable = 0.5956;
  const result<uncertainty_thresholds> found = thresholds(fit, rejectable);
  REQUIRE(found.ok());
  CHECK(found.value().risk_prone == doctest::Approx(0.8117791).epsilon(1e-7));
  CHECK(found.value().risk_averse == doctest::Approx(0.0809816).epsilon(1e-6));
  // constant density: the integral of (a u + b) over the band is Delta^2 / (2 a); f = 1, the integral of f^2 is the
  // band Delta / a
  const double integral = rejectable * rejectable / (2 * fit.slope);
  const double bound = risk_bound_of_density(fit, rejectable, rejectable / fit.slope);
  CHECK(integral / bound == doctest::Approx(std::sqrt(3.0) / 2).epsilon(1e-12));
  // the printed bound 9.87e-3 leaves 1.127e-3 for the integral of f^2
  CHECK(risk_bound_of_density(fit, rejectable, 1.127e-3) == doctest::Approx(9.87e-3).epsilon(1e-3));
  // the discrete risk of a constant law tends to the same integral
  const std::vector<double> mass(20001, 1.0 / 20000);
  CHECK(risk(fit, found.value().risk_prone, mass) == doctest::Approx(integral).epsilon(1e-3));
  CHECK(risk(fit, found.value().risk_prone, mass) / risk_bound(fit, found.value().risk_prone, mass) ==
        doctest::Approx(std::sqrt(3.0) / 2).epsilon(1e-3));
}

TEST_CASE("calibration: a fit recovers a line, and its errors on a scatter are those of the definition") {
  const std::vector<double> u{0.0, 0.25, 0.5, 1.0};
  std::vector<double> beta;
  for (const double x : u) beta.push_back(0.815 * x - 0.066);
  const result<linear_fit> line = fit_linear(u, beta);
  REQUIRE(line.ok());
  CHECK(line.value().slope == doctest::Approx(0.815).epsilon(1e-12));
  CHECK(line.value().intercept == doctest::Approx(-0.066).epsilon(1e-12));
  CHECK(line.value().mean_squared_error < 1e-28);
  CHECK(line.value().r_squared == doctest::Approx(1.0));
  // by hand: slope 0.6, intercept 0.6; residuals .4, -1.2, 1.2, -.4
  const std::vector<double> x{0, 1, 2, 3}, y{1, 0, 3, 2};
  const result<linear_fit> scatter = fit_linear(x, y);
  REQUIRE(scatter.ok());
  CHECK(scatter.value().slope == doctest::Approx(0.6));
  CHECK(scatter.value().intercept == doctest::Approx(0.6));
  CHECK(scatter.value().mean_squared_error == doctest::Approx(3.2 / 4));
  CHECK(scatter.value().r_squared == doctest::Approx(1 - 3.2 / 5));
  const std::vector<double> flat{1, 1, 1, 1};
  CHECK(fit_linear(x, flat).value().r_squared == doctest::Approx(1.0));
  CHECK(fit_linear(flat, y).error().code == errc::invalid_argument);
  CHECK(fit_linear(std::vector<double>{1}, std::vector<double>{1}).error().code == errc::invalid_argument);
  CHECK(fit_linear(x, u).ok());
  CHECK(fit_linear(x, std::vector<double>{1, 2}).error().code == errc::size_mismatch);
  CHECK(fit_linear(x, std::vector<double>{1, 2, std::numeric_limits<double>::quiet_NaN(), 3}).error() ==
        status{errc::invalid_argument, part::uncertainty, 2});
}

TEST_CASE("calibration: equal uncertainties have no fit, equal rejections a flat one, whatever the value") {
  const double values[] = {0.1, 0.2, 0.3, 0.7, 1.0 / 3, 1e-300, 1e-310, -0.1, 1e17, 1.7e308};
  for (const double value : values) {
    for (std::size_t size = 2; size < 40; ++size) {
      CAPTURE(value);
      CAPTURE(size);
      const std::vector<double> flat(size, value);
      std::vector<double> rising(size);
      for (std::size_t i = 0; i < size; ++i) rising[i] = 0.37 * static_cast<double>(i);
      CHECK(fit_linear(flat, rising).error() == status{errc::invalid_argument, part::uncertainty, 0});
      const result<linear_fit> level = fit_linear(rising, flat);
      REQUIRE(level.ok());
      CHECK(std::fabs(level->slope) <= 0.0);
      CHECK(std::fabs(level->intercept - value) <= 0.0);
      CHECK(level->mean_squared_error <= 0.0);
      CHECK(std::fabs(level->r_squared - 1.0) <= 0.0);
    }
  }
}

TEST_CASE("calibration: a fit is of any scale, and one beyond the doubles is refused") {
  const std::vector<double> u{0.0, 0.25, 0.5, 1.0}, beta{0.125, 0.25, 0.375, 0.625};
  const auto scaled = [](std::vector<double> values, double scale) {
    for (double& value : values) value *= scale;
    return values;
  };
  for (const double u_scale : {1e-200, 1.0, 1e200}) {
    for (const double beta_scale : {1e-100, 1.0, 1e100}) {
      const result<linear_fit> fit = fit_linear(scaled(u, u_scale), scaled(beta, beta_scale));
      REQUIRE(fit.ok());
      CHECK(fit->slope / beta_scale * u_scale == doctest::Approx(0.5));
      CHECK(fit->intercept / beta_scale == doctest::Approx(0.125));
      CHECK(fit->r_squared == doctest::Approx(1.0));
    }
  }
  const status beyond{errc::invalid_argument, part::uncertainty, 0};
  CHECK(fit_linear(scaled(u, 1e-200), scaled(beta, 1e140)).error() == beyond);  // a slope of 5e339
  const std::vector<double> wide{-1.7e308, 1.7e308, 0}, unit{0, 1, 1};
  CHECK(fit_linear(wide, unit).error() == beyond);
  CHECK(fit_linear(unit, wide).error() == beyond);
}

TEST_CASE("calibration: the fitted rejection is clipped, a slope that is not positive has no threshold") {
  const linear_fit fit;
  CHECK(expected_rejection(fit, 0.0) <= 0.0);
  CHECK(expected_rejection(fit, 0.5) == doctest::Approx(0.3415));
  CHECK(expected_rejection({2, 0, 0, 0}, 0.9) >= 1.0);
  CHECK(threshold_for(fit, 0.5956).value() == doctest::Approx(0.8117791));
  for (const double slope :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK(threshold_for({slope, 0, 0, 0}, 0.5).error().code == errc::invalid_argument);
    CHECK(thresholds({slope, 0, 0, 0}, 0.5).error().code == errc::invalid_argument);
  }
}

TEST_CASE("calibration: u > u_th in integers, 16 of 20 are not above 0.8") {
  CHECK(disagreement_limit(0.8, 20) == 16);
  for (std::uint32_t samples = 1; samples <= 400; ++samples) {
    for (std::uint32_t j = 0; j <= samples; ++j) {
      const double exactly = static_cast<double>(j) / static_cast<double>(samples);
      CHECK(disagreement_limit(exactly, samples) == static_cast<std::int64_t>(j));
    }
  }
  CHECK(disagreement_limit(0.7, 10) == 7);  // 0.7 * 10 is 7 only after rounding
  CHECK(disagreement_limit(0.29, 100) == 29);
  CHECK(disagreement_limit(-0.01, 20) == -1);
  CHECK(disagreement_limit(0.0, 20) == 0);
  CHECK(disagreement_limit(1.0, 20) == 20);
  CHECK(disagreement_limit(1e300, 20) == 20);
  CHECK(disagreement_limit(std::numeric_limits<double>::quiet_NaN(), 20) == -1);
  CHECK(disagreement_limit(std::numeric_limits<double>::infinity(), 20) == -1);
}

TEST_CASE("E33 calibration: risk is the sum over the band, never above its bound, and not the realised false skips") {
  const linear_fit fit;
  std::vector<double> mass(21, 0.0);
  mass[0] = 0.5;   // below the band: no part of R
  mass[10] = 0.1;  // beta 0.3415
  mass[16] = 0.1;  // beta 0.586, the last skipped one at 0.8
  mass[20] = 0.3;  // sent
  CHECK(risk(fit, 0.8, mass) == doctest::Approx(0.1 * 0.3415 + 0.1 * 0.586));
  CHECK(risk(fit, 0.79, mass) == doctest::Approx(0.1 * 0.3415));
  std::uint64_t state = 7;
  for (int trial = 0; trial < 2000; ++trial) {
    double sum = 0;
    for (double& m : mass) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      m = std::pow(static_cast<double>(state >> 11) * 0x1.0p-53, 4);
      sum += m;
    }
    for (double& m : mass) m /= sum;
    CHECK(risk(fit, 0.8, mass) <= risk_bound(fit, 0.8, mass) * (1 + 1e-12));
  }
  // m proportional to beta: equality on the grid, and above the integral bound of a histogram
  double sum = 0;
  for (std::uint32_t j = 0; j <= 20; ++j) {
    mass[j] = expected_rejection(fit, j / 20.0) * (j <= 16 ? 1 : 0);
    sum += mass[j];
  }
  for (double& m : mass) m /= sum;
  CHECK(risk(fit, 0.8, mass) == doctest::Approx(risk_bound(fit, 0.8, mass)).epsilon(1e-12));
  CHECK(risk(fit, 0.8, std::vector<double>{}) <= 0.0);
  const std::vector<std::uint8_t> skipped{1, 0, 1, 1};
  const std::vector<double> rejection{0.5, 1.0, 0.0, 0.25};
  CHECK(false_skip(skipped, rejection) == doctest::Approx(0.75 / 4));
  CHECK(false_skip({}, rejection) <= 0.0);
}
