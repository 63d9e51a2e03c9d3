// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/log_sum_exp.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

TEST_CASE("row.log_sum_exp: by hand") {
  for_each_policy([&](auto policy) {
    double out = 0;
    REQUIRE(take(out, log_sum_exp(policy, logits(std::vector<double>{0.0, 0.0}), {})).ok());
    CHECK(out == doctest::Approx(std::log(2.0)).epsilon(1e-15));
    row_transform half;
    half.temperature = 0.5;
    REQUIRE(take(out, log_sum_exp(policy, logits(std::vector<double>{3.0, -infinity}), half)).ok());
    CHECK(out == 6.0);
    REQUIRE(take(out, log_sum_exp(policy, probabilities(std::vector<double>{0.5, 0.5}), {})).ok());
    CHECK(out == 0.0);
  });
}

TEST_CASE("row.log_sum_exp: the stated errors against long double") {
  double worst_seq = 0, worst_simd = 0;  // as shares of the bounds
  for (const std::uint32_t size : {1u, 2u, 255u, 257u, 5000u, 70001u}) {
    for (const double spread : {0.01, 3.0, 50.0}) {
      for (const double temperature : {0.2, 1.0, 5.0}) {
        row_transform transform;
        transform.temperature = temperature;
        const auto check = [&](const auto& row, double tolerance_simd) {
          const auto values = transformed(row, transform);
          const double maximum = *std::max_element(values.begin(), values.end());
          long double sum = 0;
          for (const double value : values) sum += std::exp((static_cast<long double>(value) - maximum) / temperature);
          const long double exact = std::log(sum) + static_cast<long double>(maximum) / temperature;
          double out = 0;
          REQUIRE(take(out, log_sum_exp(exec::seq, logits(row), transform)).ok());
          worst_seq = std::max(worst_seq, static_cast<double>(std::fabs(out - exact)) /
                                              (1e-14 + size * 0x1.0p-61 + std::fabs(out) * 0x1.0p-51));
          REQUIRE(take(out, log_sum_exp(exec::simd, logits(row), transform)).ok());
          worst_simd = std::max(
              worst_simd, static_cast<double>(std::fabs(out - exact)) / (tolerance_simd + std::fabs(out) * 0x1.0p-51));
        };
        const auto values = normal_logits(size, size, spread);
        check(values, 1e-14);
        check(row_of<float>(values), 2e-6);
        check(row_of<bfloat16_bits>(values), 2e-6);
      }
    }
  }
  CHECK(worst_seq <= 1.0);
  CHECK(worst_seq > 0.15);  // the next case comes closer
  CHECK(worst_simd <= 1.0);
  float reference[2] = {0.0f, 1.0f};
  double reached = 0;
  const bool one_read =
      kernel::one_read_sum(exec::simd, detail::open(row_view<float>(row_kind::logits, reference, 2), {}), 1.0,
                           reached) > 0;
  if (one_read) CHECK(worst_simd > 0.3);  // elsewhere the sum is nearer
}

TEST_CASE("row.log_sum_exp: equal values in large vocabularies round alike, and the error grows with them, as stated") {
  double worst = 0;
  for (const std::uint32_t size : {1u << 16, 1u << 18, 1u << 20}) {
    for (const float below : {0.3f, 0.7f, 1.1f}) {
      std::vector<float> row(size, -below);
      row[5] = 0.0f;
      const long double exact = std::log(1.0L + (size - 1) * std::exp(-static_cast<long double>(below)));
      const auto bound = static_cast<double>(1e-14L + size * 0x1.0p-61L + exact * 0x1.0p-51L);
      const auto out = log_sum_exp(exec::seq, logits(row), {});
      REQUIRE(out.ok());
      worst = std::max(worst, static_cast<double>(std::fabs(*out - exact)) / bound);
      const auto quick = log_sum_exp(exec::simd, logits(row), {});
      REQUIRE(quick.ok());
      CHECK(static_cast<double>(std::fabs(*quick - exact)) <= 2e-6 + static_cast<double>(exact) * 0x1.0p-51);
    }
  }
  CHECK(worst <= 1.0);
  CHECK(worst > 0.1);
}

TEST_CASE("T28 row.log_sum_exp: errors leave the output alone") {
  for_each_policy([&](auto policy) {
    double out = 5;
    row_transform transform;
    transform.temperature = 0;
    const std::vector<float> row{1.0f, 2.0f};
    CHECK(take(out, log_sum_exp(policy, logits(row), transform)).code == errc::invalid_temperature);
    transform.temperature = 1;
    transform.truncation.top_p = 0.5;
    CHECK(take(out, log_sum_exp(policy, logits(row), transform)).code == errc::unsupported);
    CHECK(take(out, log_sum_exp(policy, logits(std::vector<float>{1.0f, nanf("")}), {})) ==
          status{errc::row_has_nan, part::row, 1});
    CHECK(take(out, log_sum_exp(policy, probabilities(std::vector<float>{0.5f, 0.4f}), {})).code ==
          errc::row_not_normalised);
    CHECK(out == 5);
    static_assert(noexcept(take(out, log_sum_exp(policy, row_view<float>{}, row_transform{}))));
  });
}
