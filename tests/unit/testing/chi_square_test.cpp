// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/testing/chi_square.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using specverify::chi_square;
using specverify::chi_square_critical;
using specverify::chi_square_independence;
using specverify::chi_square_power;
using specverify::chi_square_tail;
using specverify::errc;

namespace {

using tally = std::vector<std::uint64_t>;

// Draws by inverse CDF, the plainest way there is.
tally sample(const std::vector<double>& law, std::uint64_t draws, std::uint32_t seed) {
  const specverify::philox source{{{seed, 99}}};
  tally seen(law.size(), 0);
  for (std::uint64_t i = 0; i < draws; ++i) {
    double u =
        specverify::decision_uniform(source({static_cast<std::uint32_t>(i), 0, 0, specverify::purpose::training, 0}));
    std::size_t at = 0;
    while (at + 1 < law.size() && u >= law[at]) u -= law[at++];
    ++seen[at];
  }
  return seen;
}

double p_value(const tally& seen, const std::vector<double>& law) {
  auto result = chi_square(seen, law);
  REQUIRE(result.ok());
  return result->p_value;
}

}  // namespace

TEST_CASE("chi_square_tail gives tabulated values") {
  CHECK(chi_square_tail(3.841458820694124, 1) == doctest::Approx(0.05).epsilon(1e-9));
  CHECK(chi_square_tail(18.307038053275146, 10) == doctest::Approx(0.05).epsilon(1e-9));
  CHECK(chi_square_tail(2, 2) == doctest::Approx(0.36787944117144233).epsilon(1e-12));    // e^-1
  CHECK(chi_square_tail(60, 2) == doctest::Approx(9.357622968840175e-14).epsilon(1e-9));  // e^-30
  CHECK(chi_square_tail(4, 4) == doctest::Approx(0.40600584970983794).epsilon(1e-12));    // 3 e^-2
  CHECK(chi_square_tail(124.34211340400407, 100) == doctest::Approx(0.05).epsilon(1e-8));
  CHECK(chi_square_tail(100000, 100000) == doctest::Approx(0.5).epsilon(0.002));
  CHECK(chi_square_tail(0, 3) == 1);
  CHECK(chi_square_critical(1, 0.05) == doctest::Approx(3.841458820694124).epsilon(1e-9));
  CHECK(chi_square_critical(10, 1e-4) == doctest::Approx(35.564013941952574).epsilon(1e-6));
}

TEST_CASE("chi_square by hand: 20 throws of a die") {
  // Expectation 10 each; 4 + 4 + 0 + 1 + 1 + 0 = 1.0 of statistic.
  auto result = chi_square(tally{12, 8, 10, 11, 9, 10}, std::vector<double>(6, 1.0 / 6));
  REQUIRE(result.ok());
  CHECK(result->statistic == doctest::Approx(1.0));
  CHECK(result->degrees_of_freedom == 5);
  CHECK(result->cells == 6);
  CHECK(result->draws == 60);
  CHECK(result->p_value == doctest::Approx(0.9625657732472964).epsilon(1e-6));
}

TEST_CASE("chi_square merges rare cells") {
  // n = 100: expectations 90, 4, 4, 2. The three rare ones become one cell of 10.
  auto result = chi_square(tally{90, 10, 0, 0}, std::vector<double>{0.90, 0.04, 0.04, 0.02});
  REQUIRE(result.ok());
  CHECK(result->cells == 2);
  CHECK(result->statistic == doctest::Approx(0.0));
  // 60, 37, 2, 1: the rare ones together reach 3 only and join the cell of 37.
  result = chi_square(tally{60, 35, 5, 0}, std::vector<double>{0.60, 0.37, 0.02, 0.01});
  REQUIRE(result.ok());
  CHECK(result->cells == 2);
  CHECK(result->statistic == doctest::Approx(0.0));
  result = chi_square(tally{3}, std::vector<double>{1.0});
  REQUIRE(result.ok());
  CHECK(result->degrees_of_freedom == 0);
  CHECK(result->p_value == 1);
}

TEST_CASE("chi_square: a draw that cannot be is never accepted") {
  auto result = chi_square(tally{500, 499, 1}, std::vector<double>{0.5, 0.5, 0.0});
  REQUIRE(result.ok());
  CHECK(result->impossible == 1);
  CHECK(result->p_value == 0);
}

TEST_CASE("chi_square accepts the law, and its p-values are uniform") {
  const std::vector<double> law{0.4, 0.3, 0.2, 0.09, 0.01};
  std::array<std::uint64_t, 10> tenths{};
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const double p = p_value(sample(law, 1000, seed), law);
    ++tenths[p < 1 ? static_cast<std::size_t>(p * 10) : 9];
  }
  auto result = chi_square(tenths, std::vector<double>(10, 0.1));
  REQUIRE(result.ok());
  CHECK(result->p_value > 1e-4);
}

TEST_CASE("chi_square has the power that its formula says") {
  const std::vector<double> law(8, 0.125);
  std::vector<double> biased = law;
  biased[0] += 0.002;
  biased[7] -= 0.002;
  auto power = chi_square_power(law, biased, 1000000, 1e-4);
  REQUIRE(power.ok());
  CHECK(*power > 0.99);
  CHECK(p_value(sample(biased, 1000000, 1), law) < 1e-4);
  CHECK(p_value(sample(law, 1000000, 1), law) > 1e-4);
  power = chi_square_power(law, law, 1000000, 1e-4);
  REQUIRE(power.ok());
  CHECK(*power == doctest::Approx(1e-4).epsilon(1e-6));
  // A power in between, measured: 400 samples of 2000 draws each.
  biased[0] = 0.155;
  biased[7] = 0.095;
  power = chi_square_power(law, biased, 2000, 0.01);
  REQUIRE(power.ok());
  CHECK(*power > 0.2);
  CHECK(*power < 0.99);
  int detected = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed)
    detected += p_value(sample(biased, 2000, 1000 + seed), law) < 0.01 ? 1 : 0;
  CHECK(detected / 400.0 == doctest::Approx(*power).epsilon(0.06));
}

TEST_CASE("chi_square_independence by hand and on bound and free columns") {
  auto result = chi_square_independence(tally{10, 20, 30, 10, 20, 30}, 2, 3);
  REQUIRE(result.ok());
  CHECK(result->statistic == doctest::Approx(0.0));
  CHECK(result->degrees_of_freedom == 2);
  result = chi_square_independence(tally{30, 10, 0, 10, 30, 0}, 2, 3);
  REQUIRE(result.ok());
  CHECK(result->statistic == doctest::Approx(20.0));
  CHECK(result->degrees_of_freedom == 1);
  CHECK(result->p_value == doctest::Approx(7.74421643104407e-06).epsilon(1e-6));
  CHECK(chi_square_independence(tally{30, 10, 1}, 2, 2).error().code == errc::size_mismatch);
  CHECK(chi_square_independence(tally{30, 10, 1, 1}, 2, 2).error().code == errc::invalid_argument);
  CHECK(chi_square_independence(tally{0, 0, 0, 0}, 2, 2).error().code == errc::invalid_argument);
}

TEST_CASE("chi_square refuses bad input") {
  CHECK(chi_square(tally{1, 2}, std::vector<double>{1.0}).error().code == errc::size_mismatch);
  CHECK(chi_square(tally{0, 0}, std::vector<double>{0.5, 0.5}).error().code == errc::invalid_argument);
  CHECK(chi_square(tally{9, 9}, std::vector<double>{1.5, -0.5}).error().code == errc::row_is_negative);
  CHECK(chi_square(tally{9, 9}, std::vector<double>{0.5, 0.4}).error().code == errc::row_not_normalised);
  CHECK(chi_square(tally{9, 9}, std::vector<double>{0.5, 0.5}, {0}).error().code == errc::invalid_argument);
  CHECK_FALSE(chi_square(tally{1, 2}, std::vector<double>{1.0}).ok());
  CHECK(chi_square_power(std::vector<double>{1.0}, std::vector<double>{1.0}, 10, 0.0).error().code ==
        errc::invalid_argument);
  CHECK(chi_square_power(std::vector<double>{1.0}, std::vector<double>{0.5}, 10, 0.1).error().code ==
        errc::row_not_normalised);
  CHECK_FALSE(chi_square_power(std::vector<double>{1.0}, std::vector<double>{1.0}, 10, 0.0).ok());
}
