// SPDX-License-Identifier: Apache-2.0
#include <specverify/uncertainty/importance.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace specverify;

namespace {

//! The rule by its definition, on a sorted copy, in long double.
bool passes(std::vector<float> weights, std::uint32_t k, double gamma, bool mean_of_top) {
  if (weights.size() < k) return false;
  long double sum = 0, squares = 0;
  for (const float w : weights) sum += static_cast<long double>(w);
  const long double mean = sum / static_cast<long double>(weights.size());
  for (const float w : weights) squares += (static_cast<long double>(w) - mean) * (static_cast<long double>(w) - mean);
  std::sort(weights.rbegin(), weights.rend());
  const auto largest = static_cast<long double>(weights[0]);
  const long double bar =
      largest - static_cast<long double>(gamma) * std::sqrt(squares / static_cast<long double>(weights.size())) +
      1e-12L * largest;
  long double top = 0;
  for (std::uint32_t i = 0; i < k; ++i) top += static_cast<long double>(weights[i]);
  return (mean_of_top ? top / k : static_cast<long double>(weights[k - 1])) > bar;
}

std::vector<float> softmax_row(std::size_t size, double sharpness, std::uint64_t seed) {
  std::vector<float> row(size);
  double sum = 0;
  for (float& w : row) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const double x = std::exp(sharpness * static_cast<double>(seed >> 40) * 0x1.0p-24);
    w = static_cast<float>(x);
    sum += x;
  }
  for (float& w : row) w = static_cast<float>(static_cast<double>(w) / sum);
  return row;
}

bool eligible(const importance_rule& rule, const std::vector<float>& row) {
  const result<bool> out = rule.eligible(row);
  REQUIRE(out.ok());
  return out.value();
}

}  // namespace

TEST_CASE("importance: one weight of 0.9 fails for k >= 2, a nearly uniform row passes (E26)") {
  std::vector<float> sharp(100, 0.1f / 99);
  sharp[17] = 0.9f;
  CHECK(eligible({1, 1.5}, sharp));
  for (std::uint32_t k = 2; k <= 11; ++k) CHECK_FALSE(eligible({k, 1.5}, sharp));
  std::vector<float> noisy(100);
  for (std::size_t i = 0; i < 100; ++i)
    noisy[i] = 0.01f * (1.0f + 0.1f * static_cast<float>(std::sin(static_cast<double>(i) * 1.7)));
  CHECK(eligible({3, 1.5}, noisy));
  CHECK(eligible({11, 1.5}, noisy));
  CHECK(eligible({3, 1.5, true}, sharp));
  CHECK_FALSE(eligible({3, 1.5, true}, noisy));
}

TEST_CASE("importance: an exactly uniform row is never eligible by rounding, whatever its size") {
  for (std::size_t size = 3; size < 400; ++size) {
    const std::vector<float> row(size, 1.0f / static_cast<float>(size));
    CHECK_FALSE(eligible({3, 1.5}, row));
    CHECK_FALSE(eligible({3, 1.5, false, importance_statistic::mean_of_top_k}, row));
    CHECK(eligible({3, 1.5, true}, row));
  }
}

TEST_CASE("importance: fewer positions than k are not eligible, inverted or not") {
  const std::vector<float> row{0.6f, 0.4f};
  CHECK_FALSE(eligible({3, 100}, row));
  CHECK_FALSE(eligible({3, 100, true}, row));
  CHECK(eligible({2, 100}, row));
  CHECK_FALSE(eligible({2, 100, true}, row));
  CHECK_FALSE(eligible({3, 0, true, importance_statistic::mean_of_top_k}, row));
}

TEST_CASE("importance: equals the definition on random rows, both statistics; the complement is the complement") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const double sharpness : {0.1, 2.0, 12.0}) {
      const std::vector<float> row = softmax_row(5 + seed * 3, sharpness, seed);
      for (const std::uint32_t k : {1u, 3u, 5u, 11u, 40u}) {
        for (const double gamma : {-0.5, 0.0, 0.5, 1.0, 1.5, 3.0}) {
          for (const bool mean : {false, true}) {
            const auto statistic = mean ? importance_statistic::mean_of_top_k : importance_statistic::kth_largest;
            CAPTURE(seed);
            CAPTURE(k);
            CAPTURE(gamma);
            CHECK(eligible({k, gamma, false, statistic}, row) == passes(row, k, gamma, mean));
            if (row.size() >= k) CHECK(eligible({k, gamma, true, statistic}, row) == !passes(row, k, gamma, mean));
          }
        }
      }
    }
  }
}

TEST_CASE("T23 importance: larger k is stricter, larger gamma is looser") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::vector<float> row = softmax_row(64, 3.0, seed);
    for (const auto statistic : {importance_statistic::kth_largest, importance_statistic::mean_of_top_k}) {
      for (std::uint32_t k = 1; k < 12; ++k) {
        for (double gamma = 0.25; gamma < 3; gamma += 0.25) {
          const bool here = eligible({k, gamma, false, statistic}, row);
          if (eligible({k + 1, gamma, false, statistic}, row)) CHECK(here);
          if (here) CHECK(eligible({k, gamma + 0.25, false, statistic}, row));
        }
      }
    }
  }
}

TEST_CASE("importance: what cannot be used has a named error, and where it stands") {
  const std::vector<float> good{0.5f, 0.25f, 0.25f};
  const auto code = [](const importance_rule& rule, const std::vector<float>& row) {
    return rule.eligible(row).error().code;
  };
  CHECK(code({0, 1.5}, good) == errc::invalid_argument);
  CHECK(code({3, std::numeric_limits<double>::quiet_NaN()}, good) == errc::invalid_argument);
  CHECK(code({3, std::numeric_limits<double>::infinity()}, good) == errc::invalid_argument);
  CHECK(code({3, 1.5}, {}) == errc::attention_missing);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -0.25f}) {
    const std::vector<float> row{0.5f, 0.25f, bad, 0.25f};
    CHECK(importance_rule{}.eligible(row).error() == status{errc::invalid_attention, part::uncertainty, 2});
  }
  CHECK(eligible({1, 0.5}, {0.5f, -0.0f, 0.5f, 0.0f}));  // a zero with a sign is a zero
}

TEST_CASE("NUM-1 importance: an option outside its range is named before any row") {
  CHECK(check(specverify::importance_rule{}).ok());
  CHECK(check(specverify::importance_rule{.k = 0}) ==
        specverify::status{errc::invalid_argument, specverify::part::uncertainty, 0});
  CHECK(check(specverify::importance_rule{.gamma = std::numeric_limits<double>::infinity()}) ==
        specverify::status{errc::invalid_argument, specverify::part::uncertainty, 1});
  CHECK(check(specverify::importance_rule{.statistic = static_cast<specverify::importance_statistic>(2)}) ==
        specverify::status{errc::invalid_argument, specverify::part::uncertainty, 3});
}
