// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/testing/chi_square.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../row/row_cases.hpp"

using namespace row_cases;

namespace {

struct measured {
  disagreement found{};
  status outcome{};
};

template <class Policy, class Scalar, class Source>
measured perturb(Policy policy, const std::vector<Scalar>& row, token_id token, const perturbation_options& options,
                 const Source& source, std::uint32_t position = 0, std::uint32_t round = 0,
                 const row_transform& transform = {}) {
  std::vector<std::byte> memory(perturbation_workspace_size(static_cast<std::uint32_t>(row.size())));
  workspace scratch{std::span<std::byte>(memory)};
  measured out;
  const auto reading =
      read_row(policy, logits(row), perturbed_transform(transform, options), perturbed_request(), scratch);
  out.outcome = check(options).ok() ? reading.error() : check(options);
  if (!out.outcome.ok()) return out;
  const auto found = temperature_perturbation(*reading, token, options, uniforms{source, position, round});
  out.outcome = found.error();
  if (found) out.found = *found;
  return out;
}

template <class Scalar>
double mean_disagreement(const std::vector<Scalar>& row, token_id token, const perturbation_options& options,
                         const row_transform& transform = {}) {
  std::vector<std::byte> memory(digest_workspace_size(static_cast<std::uint32_t>(row.size()), transform, {}));
  workspace scratch{std::span<std::byte>(memory)};
  const auto reading = read_row(exec::simd, logits(row), transform, {}, scratch);
  REQUIRE(reading.ok());
  const auto mean = expected_disagreement(*reading, token, options);
  CHECK(mean.ok());
  return *mean;
}

//! 1 - softmax(z / theta)_d by definition.
double disagreement_at(const std::vector<double>& values, double theta, token_id token) {
  if (theta < 1e-6) return std::max_element(values.begin(), values.end()) - values.begin() == token ? 0.0 : 1.0;
  return 1.0 - static_cast<double>(law_of(values, theta)[static_cast<std::size_t>(token)]);
}

//! Lets a test say both numbers of every sample, and see which counters are read.
struct written_source {
  std::vector<double> temperatures{};
  std::vector<double> draws{};
  std::vector<random_counter>* read = nullptr;
  [[nodiscard]] random_block operator()(random_counter counter) const noexcept {
    if (read != nullptr) read->push_back(counter);
    const bool hot = counter.use == purpose::perturbation_temperature;
    const double value = (hot ? temperatures : draws)[counter.lane % (hot ? temperatures : draws).size()];
    const auto bits = static_cast<std::uint64_t>(value * 0x1.0p53) << 11;
    return {{static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits), 0, 0}};
  }
};

}  // namespace

TEST_CASE("temperature_perturbation: by hand, two logits ln 4 apart at theta 1 and at theta 0") {
  const std::vector<double> row{0.0, std::log(4.0)};
  for_each_policy([&](auto policy) {
    // theta = 2 * 1/2 = 1: p(0) = 1/5; theta = 0: the argmax, id 1
    const written_source source{{0.5, 0.5, 0.0}, {0.19, 0.21, 0.0}, nullptr};
    CHECK(perturb(policy, row, 0, {3, 2.0}, source).found.disagreements == 2);
    const written_source other{{0.5, 0.5, 0.0}, {0.79, 0.81, 0.999}, nullptr};
    const measured out = perturb(policy, row, 1, {3, 2.0}, other);
    CHECK(out.found.disagreements == 1);
    CHECK(out.found.samples == 3);
    CHECK(out.found.value() == doctest::Approx(1.0 / 3.0));
  });
}

TEST_CASE("T31 temperature_perturbation: every sample reads its own lane of purposes 4 and 5, and nothing else") {
  const std::vector<float> row{0.0f, 1.0f, 0.5f};
  for (const std::uint32_t samples : {1u, 20u, 33u, 70u}) {
    std::vector<random_counter> read;
    const written_source source{{0.25, 0.5, 0.75}, {0.125, 0.5, 0.875, 0.375}, &read};
    REQUIRE(perturb(exec::seq, row, 1, {samples, 2.0}, source, 17, 5).outcome.ok());
    std::vector<std::uint32_t> seen(2 * samples, 0);
    REQUIRE(read.size() == 2 * samples);
    for (const random_counter& counter : read) {
      REQUIRE(counter.lane < samples);
      CHECK(counter.position == 17);
      CHECK(counter.round == 5);
      CHECK(counter.branch == 0);
      CHECK((counter.use == purpose::perturbation_temperature || counter.use == purpose::perturbed_draw));
      ++seen[2 * counter.lane + (counter.use == purpose::perturbed_draw ? 1 : 0)];
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](std::uint32_t n) { return n == 1; }));
  }
}

TEST_CASE(
    "temperature_perturbation: equals its definition draw by draw, any row, any number of samples, from a row or from "
    "a digest") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const double spread = seed % 3 == 0 ? 0.4 : (seed % 3 == 1 ? 2.0 : 6.0);
    const std::vector<double> values = normal_logits(700, seed, spread);
    const auto row = row_of<float>(values);
    const auto best = static_cast<token_id>(std::max_element(values.begin(), values.end()) - values.begin());
    const philox source{{static_cast<std::uint32_t>(seed), 3}};
    for (const perturbation_options options :
         {perturbation_options{20, 2.0}, {1, 2.0}, {67, 0.5}, {20, 6.0}, {20, 2e-6}}) {
      for (const token_id token : {best, token_id{11}}) {
        std::uint32_t expected = 0;
        for (std::uint32_t m = 0; m < options.samples; ++m) {
          const double theta =
              options.maximum_temperature * decision_uniform(source({9, 2, m, purpose::perturbation_temperature, 0}));
          const double uniform = decision_uniform(source({9, 2, m, purpose::perturbed_draw, 0}));
          expected += uniform < 1.0 - disagreement_at(values, theta, token) ? 0u : 1u;
        }
        for_each_policy([&](auto policy) {
          const measured out = perturb(policy, row, token, options, source, 9, 2);
          REQUIRE(out.outcome.ok());
          CHECK(out.found.disagreements == expected);
          CHECK(out.found.samples == options.samples);
          // Any reading gives the same count: at another temperature, with few top entries, read again.
          std::vector<std::byte> memory(2 * perturbation_workspace_size(static_cast<std::uint32_t>(row.size())));
          workspace scratch{std::span<std::byte>(memory)};
          const auto plain = read_row(policy, logits(row), {.temperature = 0.7}, {.top_entries = 3}, scratch);
          REQUIRE(plain.ok());
          const auto again = temperature_perturbation(*plain, token, options, uniforms{source, 9, 2});
          REQUIRE(again.ok());
          CHECK(again->disagreements == expected);
          const auto for_it = read_for_perturbation(*plain, options, scratch);
          REQUIRE(for_it.ok());
          CHECK(temperature_perturbation(*for_it, token, options, uniforms{source, 9, 2})->disagreements == expected);
        });
      }
    }
  }
}

TEST_CASE("temperature_perturbation: given the token, the count is binomial with the integral of 1 - softmax") {
  const std::vector<double> values = normal_logits(40, 21, 1.5);
  const auto row = row_of<double>(values);
  const auto best = static_cast<token_id>(std::max_element(values.begin(), values.end()) - values.begin());
  constexpr std::uint32_t samples = 6;
  for (const token_id token : {best, token_id{2}}) {
    double e = 0;
    constexpr int points = 20000;
    for (int i = 0; i < points; ++i) e += disagreement_at(values, 2.0 * (i + 0.5) / points, token) / points;
    std::vector<double> binomial(samples + 1);
    for (std::uint32_t j = 0; j <= samples; ++j) {
      binomial[j] = std::exp(std::lgamma(samples + 1.0) - std::lgamma(j + 1.0) - std::lgamma(samples - j + 1.0)) *
                    std::pow(e, j) * std::pow(1 - e, samples - j);
    }
    std::vector<std::uint64_t> seen(samples + 1, 0);
    const philox source{{77, 78}};
    for (std::uint32_t position = 0; position < 20000; ++position) {
      ++seen[perturb(exec::seq, row, token, {samples, 2.0}, source, position).found.disagreements];
    }
    auto result = chi_square(seen, binomial);
    REQUIRE(result.ok());
    CHECK(result->p_value > 1e-4);
  }
}

TEST_CASE("temperature_perturbation: the deterministic mean is the midpoint rule, and near the integral") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const std::vector<double> values = normal_logits(500, seed, 2.5);
    const auto row = row_of<double>(values);
    const auto best = static_cast<token_id>(std::max_element(values.begin(), values.end()) - values.begin());
    for (const std::uint32_t samples : {1u, 20u, 45u}) {
      double expected = 0;
      for (std::uint32_t m = 0; m < samples; ++m)
        expected += disagreement_at(values, 2.0 * (m + 0.5) / samples, best) / samples;
      CHECK(mean_disagreement(row, best, {samples, 2.0}) == doctest::Approx(expected).epsilon(1e-12));
    }
    double integral = 0;
    for (int i = 0; i < 4000; ++i) integral += disagreement_at(values, 2.0 * (i + 0.5) / 4000, best) / 4000;
    CHECK(mean_disagreement(row, best, {20, 2.0}) == doctest::Approx(integral).epsilon(2e-3));
  }
  CHECK(mean_disagreement(std::vector<float>{1.0f, 2.0f}, 0, {8, 1.5e-6}) > 0.999);  // cold points are the argmax
}

TEST_CASE("temperature_perturbation: the mean between bounds no wider than asked, by few reads") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto row = row_of<float>(normal_logits(3000, seed, 2.5));
    const auto best = static_cast<token_id>(std::max_element(row.begin(), row.end()) - row.begin());
    for_each_policy([&](auto policy) {
      std::vector<std::byte> memory(perturbation_workspace_size(3000));
      workspace scratch{std::span<std::byte>(memory)};
      const auto reading = read_row(policy, logits(row), perturbed_transform({}, {}), perturbed_request(), scratch);
      REQUIRE(reading.ok());
      for (const std::uint32_t samples : {1u, 20u, 75u}) {
        const auto mean = expected_disagreement(*reading, best, {samples, 2.0});
        REQUIRE(mean.ok());
        for (const double width : {1.0, 0.03, 1e-3, 1e-5, 0.0}) {
          const auto found = expected_disagreement_within(*reading, best, {samples, 2.0}, width);
          REQUIRE(found.ok());
          CHECK(found->lower <= *mean + 1e-12);
          CHECK(found->upper >= *mean - 1e-12);
          CHECK(found->upper - found->lower <= std::max(width, 5e-12));
          CHECK(std::abs(found->value() - *mean) <= std::max(0.5 * width, 5e-12));
          if (width == 1.0) CHECK(found->reads.quick == 0);
          if (width >= 0.03) CHECK(found->reads.quick <= 4);
          CHECK(found->reads.exact <= samples);
        }
      }
    });
  }
}

TEST_CASE("temperature_perturbation: a reading serves if its law is of logits, hot enough and has top_entries") {
  const auto row = row_of<float>(normal_logits(900, 8, 2.0));
  const auto serves = [&](const row_transform& transform, std::uint32_t top_entries) {
    std::vector<std::byte> memory(digest_workspace_size(900, transform, {.top_entries = top_entries}));
    workspace scratch{std::span<std::byte>(memory)};
    const auto reading = read_row(exec::simd, logits(row), transform, {.top_entries = top_entries}, scratch);
    REQUIRE(reading.ok());
    return serves_perturbation(*reading, {20, 2.0});
  };
  CHECK(serves({.temperature = 1.0}, 32));
  CHECK(serves({.temperature = 2.0}, 900));
  CHECK(serves(perturbed_transform({}, {20, 2.0}), perturbed_request().top_entries));
  CHECK_FALSE(serves({.temperature = 1.0}, 31));
  CHECK_FALSE(serves({.temperature = 0.7}, 64));
  CHECK_FALSE(serves({.temperature = 2.1}, 64));
  CHECK_FALSE(serves({.temperature = 0.0}, 64));
  row_transform truncated;
  truncated.truncation.top_k = 100;
  CHECK_FALSE(serves(truncated, 64));
}

TEST_CASE("temperature_perturbation: temperature and truncation of the transform play no part, bias and mask do") {
  const std::vector<double> values = normal_logits(90, 4, 1.0);
  const auto row = row_of<float>(values);
  const philox source{{5, 6}};
  const std::uint32_t plain = perturb(exec::simd, row, 8, {200, 2.0}, source).found.disagreements;
  row_transform transform;
  transform.temperature = 0;
  CHECK(perturb(exec::simd, row, 8, {200, 2.0}, source, 0, 0, transform).found.disagreements == plain);
  transform.temperature = 0.3;
  transform.truncation.top_k = 2;
  CHECK(perturb(exec::simd, row, 8, {200, 2.0}, source, 0, 0, transform).found.disagreements == plain);
  const token_id ids[1] = {8};
  const float bias[1] = {30.0f};
  transform.bias_ids = ids;
  transform.bias_values = bias;
  CHECK(perturb(exec::simd, row, 8, {200, 2.0}, source, 0, 0, transform).found.disagreements == 0);
  const std::uint64_t mask[2] = {~(std::uint64_t{1} << 8), ~std::uint64_t{0}};
  transform.mask_words = mask;
  CHECK(perturb(exec::simd, row, 8, {200, 2.0}, source, 0, 0, transform).found.disagreements == 200);
  CHECK(mean_disagreement(row, 8, {20, 2.0}, transform) == doctest::Approx(1.0));
  const std::vector<float> alone{-std::numeric_limits<float>::infinity(), 3.0f,
                                 -std::numeric_limits<float>::infinity()};
  CHECK(perturb(exec::simd, alone, 1, {20, 2.0}, source).found.disagreements == 0);
  CHECK(perturb(exec::simd, alone, 0, {20, 2.0}, source).found.disagreements == 20);
}

TEST_CASE("T28 temperature_perturbation: each wrong input has its own error, and nothing is written") {
  const philox source{{1, 2}};
  std::vector<float> row{0.0f, 1.0f, 2.0f};
  const auto code = [&](const std::vector<float>& from, token_id token, perturbation_options options) {
    const measured out = perturb(exec::simd, from, token, options, source);
    CHECK(out.found.samples == 0);
    return out.outcome.code;
  };
  CHECK(code(row, 0, {0, 2.0}) == errc::invalid_argument);
  CHECK(code(row, 0, {65537, 2.0}) == errc::invalid_argument);
  for (const double heat : {0.0, 1e-6, -1.0, nan_value(), infinity})
    CHECK(code(row, 0, {20, heat}) == errc::invalid_argument);
  CHECK(code(row, -1, {20, 2.0}) == errc::token_out_of_range);
  CHECK(code(row, 3, {20, 2.0}) == errc::token_out_of_range);
  row[1] = static_cast<float>(nan_value());
  CHECK(code(row, 0, {20, 2.0}) == errc::row_has_nan);
  CHECK(code(std::vector<float>(3, -std::numeric_limits<float>::infinity()), 0, {20, 2.0}) == errc::row_is_empty);
  CHECK(code({}, 0, {20, 2.0}) == errc::empty_vocabulary);
  workspace nothing;
  row[1] = 0.0f;
  std::vector<std::byte> memory(perturbation_workspace_size(3));
  workspace scratch{std::span<std::byte>(memory)};
  const auto reading = read_row(exec::simd, logits(row), {}, {}, scratch);
  REQUIRE(reading.ok());
  CHECK(read_for_perturbation(*reading, {}, nothing).error().code == errc::workspace_too_small);
  CHECK(read_for_perturbation(*reading, {0, 2.0}, nothing).error().code == errc::invalid_argument);
  CHECK(temperature_perturbation(*reading, 0, {0, 2.0}, uniforms{source, 0, 0}).error().code == errc::invalid_argument);
  CHECK(expected_disagreement(*reading, 0, {0, 2.0}).error().code == errc::invalid_argument);
  CHECK(expected_disagreement_within(*reading, 0, {0, 2.0}, 0.1).error().code == errc::invalid_argument);
  CHECK(expected_disagreement_within(*reading, 0, {}, -0.1).error().code == errc::invalid_argument);
  CHECK(expected_disagreement_within(*reading, 3, {}, 0.1).error().code == errc::token_out_of_range);
  scratch.rewind(0);
  CHECK(temperature_perturbation(*reading, 0, {}, uniforms{source, 0, 0}).error().code == errc::reading_expired);
}

TEST_CASE("NUM-1 temperature_perturbation: an option outside its range is named before any row") {
  CHECK(check(perturbation_options{}).ok());
  for (const std::uint32_t samples : {0u, 65537u})
    CHECK(check(perturbation_options{samples, 2.0}) == status{errc::invalid_argument, part::uncertainty, 0});
  for (const double heat : {0.0, 1e-6, -1.0, nan_value(), infinity})
    CHECK(check(perturbation_options{20, heat}) == status{errc::invalid_argument, part::uncertainty, 1});
}
