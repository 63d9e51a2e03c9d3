// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/softmax.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

TEST_CASE("row.softmax: by hand") {
  for_each_policy([&](auto policy) {
    std::vector<double> out(4, -1.0);
    REQUIRE(softmax(policy, logits(std::vector<float>{0.0f, 0.0f, -std::numeric_limits<float>::infinity(), 0.0f}), {},
                    std::span<double>(out))
                .ok());
    CHECK(out[0] == doctest::Approx(1.0 / 3).epsilon(1e-15));
    CHECK(out[2] == 0.0);
    row_transform greedy;
    greedy.temperature = 0;
    REQUIRE(softmax(policy, logits(std::vector<float>{0.0f, 7.0f, 7.0f, 1.0f}), greedy, std::span<double>(out)).ok());
    CHECK(out == std::vector<double>{0.0, 1.0, 0.0, 0.0});
  });
}

namespace {

//! What row/softmax.hpp promises for x = (z - max) / T = -nats and V ids.
double double_bound(double nats, double size) { return 0x1.0p-53 * (3 * (nats + std::log(size)) + size / 256 + 30); }
double float_bound(double nats, double size) { return 3 * 0x1.0p-24 * (nats + std::log(size) + 10); }

struct worst_errors {
  double narrow = 0, wide = 0;                    // as shares of the bounds
  double relative_narrow = 0, relative_wide = 0;  // relative to the law
};

template <class Policy>
worst_errors softmax_errors(Policy policy, const std::vector<float>& row, double temperature) {
  const std::size_t size = row.size();
  row_transform transform;
  transform.temperature = temperature;
  const auto law = law_of(transformed(row, transform), temperature);
  const auto largest = *std::max_element(law.begin(), law.end());
  std::vector<float> narrow(size + 8, -7.0f);
  std::vector<double> wide(size + 8, -7.0);
  REQUIRE(softmax(policy, logits(row), transform, std::span<float>(narrow)).ok());
  REQUIRE(softmax(policy, logits(row), transform, std::span<double>(wide)).ok());
  worst_errors worst;
  for (std::size_t i = 0; i < size; ++i) {
    if (law[i] == 0) continue;
    const double nats = -static_cast<double>(std::log(law[i] / largest)), count = static_cast<double>(size);
    if (nats <= 700) {
      const auto apart = static_cast<double>(std::fabs(wide[i] / law[i] - 1));
      worst.relative_wide = std::max(worst.relative_wide, apart);
      worst.wide = std::max(worst.wide, apart / double_bound(nats, count));
    }
    const auto apart = static_cast<double>(std::fabs(narrow[i] - law[i]) - 0x1.0p-126L);  // what a float cannot hold
    worst.relative_narrow = std::max(worst.relative_narrow, apart / static_cast<double>(law[i]));
    worst.narrow = std::max(worst.narrow, apart / static_cast<double>(law[i]) / float_bound(nats, count));
  }
  for (std::size_t i = size; i < size + 8; ++i) CHECK((narrow[i] == -7.0f && wide[i] == -7.0));
  return worst;
}

}  // namespace

TEST_CASE("row.softmax: the stated errors against long double, tails and both output types") {
  for (const std::uint32_t size : {1u, 3u, 16u, 255u, 256u, 257u, 5003u}) {
    for (const double temperature : {0.5, 1.0, 4.0}) {
      const auto row = row_of<float>(normal_logits(size, size, 3.0));
      for_each_policy([&](auto policy) {
        const worst_errors worst = softmax_errors(policy, row, temperature);
        CHECK(worst.narrow <= 1.0);
        CHECK(worst.wide <= 1.0);
      });
    }
  }
}

TEST_CASE("row.softmax: the errors grow with (max - z) / T, as stated, from a wide vocabulary to the coldest tails") {
  for (const std::uint32_t size : {300u, 50257u}) {
    auto row = row_of<float>(normal_logits(size, size, 3.0));
    row[size / 3] = 24.0f;  // a sure row: its tail is 13 to 35 nats down at T = 1
    for (const double temperature : {0.05, 0.1, 0.3, 0.7}) {
      for_each_policy([&](auto policy) {
        const worst_errors worst = softmax_errors(policy, row, temperature);
        INFO("V ", size, ", T ", temperature);
        CHECK(worst.narrow <= 1.0);
        CHECK(worst.wide <= 1.0);
        if (temperature <= 0.1) CHECK(worst.relative_wide > 1e-14);  // no constant would do
      });
    }
  }
}

TEST_CASE("row.softmax: the stated errors are reached to a third in double and a fifth in float, cold rows included") {
  double narrow = 0, wide = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::vector<double> values = normal_logits(200 + 11 * static_cast<std::uint32_t>(seed), seed, 40.0);
    std::vector<double> fine(values);  // not rounded to float: the difference to the maximum rounds as well
    for (std::size_t i = 0; i < fine.size(); ++i) fine[i] *= 1.0 + 1e-9 * static_cast<double>(i);
    const double temperature = 0.4 + 0.017 * static_cast<double>(seed);
    row_transform transform;
    transform.temperature = temperature;
    const auto law = law_of(fine, temperature);
    const auto largest = *std::max_element(law.begin(), law.end());
    std::vector<double> out(fine.size());
    REQUIRE(softmax(exec::simd, logits(fine), transform, std::span<double>(out)).ok());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double nats = -static_cast<double>(std::log(law[i] / largest));
      if (nats > 700) continue;
      wide = std::max(wide, static_cast<double>(std::fabs(out[i] / law[i] - 1)) /
                                double_bound(nats, static_cast<double>(out.size())));
    }
    narrow = std::max(narrow, softmax_errors(exec::simd, row_of<float>(values), temperature).narrow);
  }
  CHECK(wide <= 1.0);
  CHECK(wide > 1.0 / 3);
#ifndef __FAST_MATH__  // which flushes results below the normal floats
  CHECK(narrow <= 1.0);
#endif
  CHECK(narrow > 1.0 / 5);  // with AVX2; elsewhere an exponent is rounded as a whole, and it is more than a third
}

TEST_CASE("T28 row.softmax: errors write nothing") {
  for_each_policy([&](auto policy) {
    std::vector<float> out(2, 5.0f);
    const std::vector<float> three{1.0f, 2.0f, 3.0f}, bad{1.0f, nanf("")};
    CHECK(softmax(policy, logits(three), {}, std::span<float>(out)).code == errc::output_too_small);
    CHECK(softmax(policy, logits(bad), {}, std::span<float>(out)).code == errc::row_has_nan);
    row_transform cut;
    cut.truncation.top_k = 1;
    CHECK(softmax(policy, logits(bad), cut, std::span<float>(out)).code == errc::unsupported);
    CHECK(out == std::vector<float>{5.0f, 5.0f});
    static_assert(noexcept(softmax(policy, row_view<float>{}, row_transform{}, std::span<float>{})));
  });
}
