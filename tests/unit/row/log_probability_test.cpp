// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/log_probability.hpp>
#include <specverify/row/reading.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

TEST_CASE("SMP-10 row.log_probability: against long double, every kind of law") {
  const std::vector<double> values = normal_logits(3000, 6, 3.0);
  for (const double temperature : {0.3, 1.0, 2.0}) {
    row_transform transform;
    transform.temperature = temperature;
    const auto check = [&](const auto& row) {
      const auto law = law_of(transformed(row, transform), temperature);
      for_each_policy([&](auto policy) {
        const auto from = make_digest(policy, logits(row), transform);
        for (std::size_t id = 0; id < law.size(); id += 37) {
          const auto out = from->log_probability(static_cast<token_id>(id));
          REQUIRE(out.ok());
          CHECK(*out == doctest::Approx(static_cast<double>(std::log(law[id]))).epsilon(1e-13));
        }
      });
    };
    check(values);
    check(row_of<float>(values));
    check(row_of<float16_bits>(values));
  }
}

TEST_CASE("row.log_probability: the stated error against long double, up to 60 T from the reference") {
  double worst = 0;  // as a share of the bound
  generator random{5};
  for (int round = 0; round < 4000; ++round) {
    row_transform transform;
    transform.temperature = 0.1 + 4 * random.uniform();
    std::vector<double> values(24 + random.below(60));
    for (double& value : values) value = random.normal() * transform.temperature;
    values[20] = 59.5 * transform.temperature + values[0];  // behind the sampled ids: the reference stays below
    const auto check = [&](const auto& row) {
      const auto law = law_of(transformed(row, transform), transform.temperature);
      const auto from = make_digest(exec::simd, logits(row), transform);
      for (const token_id id : {0, 3, 20}) {
        const auto out = from->log_probability(id);
        REQUIRE(out.ok());
        const long double exact = std::log(law[static_cast<std::size_t>(id)]);
        const auto bound = static_cast<double>(1e-14L + std::fabs(exact) * 0x1.0p-51L);
        worst = std::max(worst, static_cast<double>(std::fabs(*out - exact)) / bound);
      }
    };
    check(values);
    if (round % 4 == 0) check(row_of<float>(values));
  }
#ifndef __FAST_MATH__
  CHECK(worst <= 1.0);
#else
  CHECK(worst <= 2.0);
#endif
  CHECK(worst > 0.3);
}

TEST_CASE("row.log_probability: equal values in a large vocabulary round alike, as stated") {
  const std::uint32_t size = 1u << 18;
  std::vector<float> row(size, -0.7f);
  row[5] = 0.0f;
  const auto from = make_digest(exec::simd, logits(row), {});
  const auto out = from->log_probability(5);
  REQUIRE(out.ok());
  const long double exact = -std::log(1.0L + (size - 1) * std::exp(-static_cast<long double>(0.7f)));
  const auto apart = static_cast<double>(std::fabs(*out - exact));
  CHECK(apart <= static_cast<double>(1e-14L + size * 0x1.0p-61L - exact * 0x1.0p-51L));
}

TEST_CASE("row.log_probability: impossible ids give -infinity; truncated, one-hot and probability rows") {
  const std::vector<double> row{2.0, 1.0, -infinity, 0.0};
  const auto of = [&](row_transform transform, token_id id) {
    const auto from = make_digest(exec::simd, logits(row), transform);
    const auto out = from->log_probability(id);
    REQUIRE(out.ok());
    return *out;
  };
  CHECK(of({}, 2) == -infinity);
  row_transform greedy;
  greedy.temperature = 0;
  CHECK(of(greedy, 0) == 0.0);
  CHECK(of(greedy, 1) == -infinity);
  row_transform cut;
  cut.truncation.top_k = 2;
  CHECK(of(cut, 3) == -infinity);
  CHECK(of(cut, 1) == doctest::Approx(-1 - std::log(1 + std::exp(-1.0))).epsilon(1e-14));
  const std::vector<float> law{0.5f, 0.0f, 0.5f};
  const auto from = make_digest(exec::seq, probabilities(law), {});
  REQUIRE(from->log_probability(0).ok());
  CHECK(*from->log_probability(0) == doctest::Approx(std::log(0.5)).epsilon(1e-15));
  REQUIRE(from->log_probability(1).ok());
  CHECK(*from->log_probability(1) == -infinity);
}

TEST_CASE("row.log_probability: errors leave the output alone") {
  const std::vector<float> row{2.0f, 1.0f};
  const auto from = make_digest(exec::seq, logits(row), {});
  CHECK(from->log_probability(2).error().code == errc::token_out_of_range);
  CHECK(from->log_probability(-1).error().code == errc::token_out_of_range);
  CHECK(from->log_probability(std::numeric_limits<token_id>::min()).error().code == errc::token_out_of_range);
  CHECK_FALSE(from->log_probability(2).ok());
  static_assert(noexcept(from->log_probability(0)));
}
