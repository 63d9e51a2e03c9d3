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
