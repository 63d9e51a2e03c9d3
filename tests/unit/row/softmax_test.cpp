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

TEST_CASE("row.softmax: the stated errors against long double, tails and both output types") {
  for (const std::uint32_t size : {1u, 3u, 16u, 255u, 256u, 257u, 5003u}) {
    for (const double temperature : {0.5, 1.0, 4.0}) {
      row_transform transform;
      transform.temperature = temperature;
      const auto row = row_of<float>(normal_logits(size, size, 3.0));
      const auto law = law_of(transformed(row, transform), temperature);
      for_each_policy([&](auto policy) {
        std::vector<float> narrow(size + 8, -7.0f);
        std::vector<double> wide(size + 8, -7.0);
        REQUIRE(softmax(policy, logits(row), transform, std::span<float>(narrow)).ok());
        REQUIRE(softmax(policy, logits(row), transform, std::span<double>(wide)).ok());
        double worst_narrow = 0, worst_wide = 0;
        for (std::size_t i = 0; i < size; ++i) {
          const double nats = -static_cast<double>(std::log(law[i] / *std::max_element(law.begin(), law.end())));
          worst_narrow = std::max(worst_narrow,
                                  static_cast<double>(std::fabs(narrow[i] / law[i] - 1)) / (1e-6 + nats * 0x1.0p-23));
          worst_wide = std::max(worst_wide, static_cast<double>(std::fabs(wide[i] / law[i] - 1)));
        }
        CHECK(worst_narrow <= 1.0);
        CHECK(worst_wide <= 2e-14);
        for (std::size_t i = size; i < size + 8; ++i) CHECK((narrow[i] == -7.0f && wide[i] == -7.0));
      });
    }
  }
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
