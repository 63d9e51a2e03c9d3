// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/integer_weights.hpp>

#include <doctest/doctest.h>

#include <cfenv>

#include "row_cases.hpp"

using namespace row_cases;

TEST_CASE("row.integer_weights: golden values, the same on every machine") {
  const std::vector<float> row{0.0f, -1.0f, -2.5f, -10.0f, -20.0f, -22.0f, -23.0f, -1000.0f};
  for_each_policy([&](auto policy) {
    std::vector<std::uint32_t> weights(8);
    std::uint64_t total = 0;
    REQUIRE(take(total, integer_weights(policy, logits(row), {}, std::span<std::uint32_t>(weights))).ok());
    CHECK(weights == std::vector<std::uint32_t>{2147483648u, 790015088u, 176276192u, 97496u, 4u, 1u, 0u, 0u});
    CHECK(total == std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
  });
}

TEST_CASE(
    "row.integer_weights: the stated error against long double, the largest weight is 2^31, double and float rows") {
  long double worst = 0;
  const auto check = [&worst](const auto& row, double temperature) {
    row_transform transform;
    transform.temperature = temperature;
    const auto values = transformed(row, transform);
    const double maximum = *std::max_element(values.begin(), values.end());
    std::vector<std::uint32_t> weights(row.size()), again(row.size());
    std::uint64_t total = 0, total_again = 0;
    REQUIRE(take(total, integer_weights(exec::seq, logits(row), transform, std::span<std::uint32_t>(weights))).ok());
    REQUIRE(
        take(total_again, integer_weights(exec::simd, logits(row), transform, std::span<std::uint32_t>(again))).ok());
    CHECK(weights == again);
    CHECK(total == total_again);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const long double exact = std::exp((static_cast<long double>(values[i]) - maximum) / temperature) * 2147483648.0L;
      const long double bound = 0.5L + exact * 0x1.0p-26L;
      if (exact >= 0.5L) worst = std::max(worst, std::fabs(weights[i] - exact) / bound);
      if (exact < 0.5L) CHECK(weights[i] <= 1);
    }
    CHECK(worst <= 1.0L);
    CHECK(*std::max_element(weights.begin(), weights.end()) == 2147483648u);
  };
  for (const double temperature : {0.1, 0.7, 1.0, 3.0, 100.0}) {
    const auto values = normal_logits(40000, 11, 4.0);
    check(values, temperature);
    check(row_of<float>(values), temperature);
    check(row_of<float16_bits>(values), temperature);
  }
  CHECK(worst > 0.9L);
}

TEST_CASE("row.integer_weights: never increasing in the exponent, over every fraction and across octaves") {
  std::uint32_t previous = kernel::integer_exponential(0);
  CHECK(previous == 2147483648u);
  bool monotone = true;
  for (std::uint64_t exponent = 1; exponent <= (std::uint64_t{1} << 26) + 1000; ++exponent) {
    const std::uint32_t weight = kernel::integer_exponential(exponent);
    monotone = monotone && weight <= previous;
    previous = weight;
  }
  CHECK(monotone);
  for (std::uint64_t octave = 1; octave < 33; ++octave) {
    const std::uint64_t at = octave << 26;
    CHECK(kernel::integer_exponential(at - 1) >= kernel::integer_exponential(at));
    CHECK(kernel::integer_exponential(at) == (octave < 32 ? 2147483648u >> octave : 0u));
  }
}

TEST_CASE("row.integer_weights: probabilities in proportion, zeros stay zero") {
  const std::vector<double> row{0.5, 0.25, 0.0, 0.125, 0.125};
  for_each_policy([&](auto policy) {
    std::vector<std::uint32_t> weights(5);
    std::uint64_t total = 0;
    REQUIRE(take(total, integer_weights(policy, probabilities(row), {}, std::span<std::uint32_t>(weights))).ok());
    CHECK(weights == std::vector<std::uint32_t>{2147483648u, 1073741824u, 0u, 536870912u, 536870912u});
  });
}

TEST_CASE("row.integer_weights: the stated error of probabilities, which is used") {
  const auto law = law_of(normal_logits(5000, 12, 2.5), 1.0);
  const std::vector<float> row(law.begin(), law.end());
  const auto largest = static_cast<long double>(*std::max_element(row.begin(), row.end()));
  for_each_policy([&](auto policy) {
    std::vector<std::uint32_t> weights(row.size());
    REQUIRE(integer_weights(policy, probabilities(row), {}, std::span<std::uint32_t>(weights)).ok());
    long double worst = 0;
    for (std::size_t i = 0; i < row.size(); ++i)
      worst = std::max(worst, std::fabs(weights[i] - row[i] / largest * 2147483648.0L));
    CHECK(worst <= 1.0L);
    CHECK(worst > 0.3L);
  });
}

TEST_CASE("row.integer_weights: temperature zero, masks, and errors that write nothing") {
  const std::vector<float> row{1.0f, 2.0f, 2.0f};
  row_transform greedy;
  greedy.temperature = 0;
  std::vector<std::uint32_t> weights(3, 9);
  std::uint64_t total = 5;
  CHECK(take(total, integer_weights(exec::seq, logits(row), {}, std::span<std::uint32_t>(weights).first(2))).code ==
        errc::output_too_small);
  CHECK(take(total, integer_weights(exec::seq, logits(std::vector<float>{nanf(""), 1.0f, 1.0f}), {},
                                    std::span<std::uint32_t>(weights)))
            .code == errc::row_has_nan);
  row_transform cut;
  cut.truncation.top_k = 2;
  CHECK(take(total, integer_weights(exec::seq, logits(row), cut, std::span<std::uint32_t>(weights))).code ==
        errc::unsupported);
  CHECK(weights == std::vector<std::uint32_t>(3, 9));
  CHECK(total == 5);
  REQUIRE(take(total, integer_weights(exec::seq, logits(row), greedy, std::span<std::uint32_t>(weights))).ok());
  CHECK(weights == std::vector<std::uint32_t>{0, 2147483648u, 0});
  const std::uint64_t mask[1] = {0b101};
  row_transform masked;
  masked.mask_words = mask;
  REQUIRE(take(total, integer_weights(exec::simd, logits(row), masked, std::span<std::uint32_t>(weights))).ok());
  CHECK(weights[1] == 0);
  CHECK(weights[2] == 2147483648u);
  static_assert(noexcept(
      take(total, integer_weights(exec::seq, row_view<float>{}, row_transform{}, std::span<std::uint32_t>{}))));
}

TEST_CASE("row.integer_weights: in every rounding mode each policy gives the same, and equal logits weigh the same") {
  std::vector<float> row(27);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = -0.37f * static_cast<float>(i % 9);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::vector<std::uint32_t> scalar(row.size()), vectors(row.size());
    if (std::fesetround(mode) != 0) continue;
    const auto total = integer_weights(exec::seq, logits(row), {}, std::span<std::uint32_t>(scalar));
    const auto total_of_vectors = integer_weights(exec::simd, logits(row), {}, std::span<std::uint32_t>(vectors));
    std::fesetround(FE_TONEAREST);
    REQUIRE(total.ok());
    REQUIRE(total_of_vectors.ok());
    CHECK(vectors == scalar);
    for (std::size_t i = 9; i < row.size(); ++i) CHECK(vectors[i] == vectors[i - 9]);
  }
}
