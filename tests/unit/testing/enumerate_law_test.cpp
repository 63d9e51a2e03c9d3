// SPDX-License-Identifier: Apache-2.0
#include <specverify/testing/enumerate_law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

namespace sv = specverify;

namespace {

sv::random_counter at(std::uint32_t position, sv::purpose use, std::uint32_t lane = 0) {
  return {position, 0, lane, use, 0};
}
double first(const sv::scripted_source& source, sv::random_counter counter) {
  return sv::decision_uniform(source(counter), 0);
}
double second(const sv::scripted_source& source, sv::random_counter counter) {
  return sv::decision_uniform(source(counter), 1);
}

}  // namespace

TEST_CASE("enumerate_law: a coin, to the last bit") {
  for (const double p : {0.5, 0.1, 1.0 / 3.0, 0x1.0p-53, 1.0 - 0x1.0p-53, 0x1.8p-40}) {
    const auto law = sv::enumerate_law(
        [p](const auto& source) { return first(source, at(0, sv::purpose::acceptance)) < p ? 1 : 0; });
    CHECK(law.complete);
    CHECK(law.total == sv::exact_mass::one());
    CHECK(law.probability(1) == std::ceil(p * 0x1.0p53) * 0x1.0p-53);
    CHECK_FALSE(law.grid_may_be_too_coarse);
  }
  const auto constant = sv::enumerate_law([](const auto&) { return 3; });
  CHECK(constant.probability(3) == 1.0);
  CHECK(constant.leaves == 1);
}

TEST_CASE("enumerate_law: integer draws over small bounds are uniform") {
  for (const std::uint64_t bound : {1u, 2u, 3u, 5u, 7u, 100u, 240u}) {
    const auto law = sv::enumerate_law([bound](const auto& source) {
      return static_cast<int>(sv::uniform_integer(source, at(1, sv::purpose::draft_draw), bound));
    });
    CHECK(law.complete);
    REQUIRE(law.outcomes.size() == bound);
    for (const auto& entry : law.outcomes)
      CHECK(std::fabs(entry.probability - 1.0 / static_cast<double>(bound)) < 0x1.0p-52);
  }
}

TEST_CASE("enumerate_law: a breakpoint that shows only when the second number is small is found") {
  // Proposal u1 -> token, accepted with a probability that depends on the token; rejected proposals go on to the next
  // lane.
  const std::array<double, 4> proposal{0.1, 0.2, 0.3, 0.4}, acceptance{0.5, 0x1.0p-30, 0.0, 0.25};
  const auto run = [&](const sv::scripted_source& source) {
    for (std::uint32_t trial = 0; trial < 2; ++trial) {
      const sv::random_counter counter = at(0, sv::purpose::residual_draw, trial);
      double u = first(source, counter);
      int token = 0;
      while (token < 3 && u >= proposal[static_cast<std::size_t>(token)])
        u -= proposal[static_cast<std::size_t>(token++)];
      if (second(source, counter) < acceptance[static_cast<std::size_t>(token)]) return token;
    }
    return -1;
  };
  const auto law = sv::enumerate_law(run);
  CHECK(law.complete);
  double rejected = 0;
  for (std::size_t v = 0; v < 4; ++v) rejected += proposal[v] * (1 - acceptance[v]);
  for (std::size_t v = 0; v < 4; ++v) {
    CHECK(std::fabs(law.probability(static_cast<int>(v)) - proposal[v] * acceptance[v] * (1 + rejected)) < 1e-15);
  }
  CHECK(std::fabs(law.probability(-1) - rejected * rejected) < 1e-15);
}

TEST_CASE("enumerate_law: a planted rare branch at an end of the range, and between outcomes") {
  const auto law = sv::enumerate_law([](const sv::scripted_source& source) {
    const double u = first(source, at(0, sv::purpose::bonus_draw));
    if (u < 0x1.0p-45) return 7;
    if (u < 0.3) return 1;
    if (u < 0.3 + 0x1.0p-40) return 8;
    if (u < 1.0 - 0x1.0p-50) return 2;
    return 9;
  });
  CHECK(law.probability(7) == 0x1.0p-45);
  CHECK(std::fabs(law.probability(8) - 0x1.0p-40) <= 0x1.0p-53);
  CHECK(law.probability(9) == 0x1.0p-50);
  CHECK(law.narrowest == 8);
}

TEST_CASE("enumerate_law: an island between two probes is found by the check and searched again, or reported") {
  const auto island = [](const sv::scripted_source& source) {
    const double u = first(source, at(0, sv::purpose::bonus_draw));
    return u >= 0.62 && u < 0.64 ? 1 : 0;
  };
  const auto found = sv::enumerate_law(island);  // probes at j / 5
  CHECK(found.complete);
  CHECK(found.searches == 2);
  CHECK_FALSE(found.grid_may_be_too_coarse);
  CHECK(std::fabs(found.probability(1) - 0.02) < 1e-15);
  const auto coarse = sv::enumerate_law(island, {.refinements = 0});
  CHECK(coarse.complete);
  CHECK(coarse.grid_may_be_too_coarse);
  const auto fine = sv::enumerate_law(island, {.grid = 99, .refinements = 0});
  CHECK_FALSE(fine.grid_may_be_too_coarse);
  CHECK(fine.searches == 1);
  CHECK(std::fabs(fine.probability(1) - 0.02) < 1e-15);
  const std::array<double, 1> hints{0.2500001};
  const auto hinted = sv::enumerate_law(
      [](const sv::scripted_source& source) {
        const double u = first(source, at(0, sv::purpose::bonus_draw));
        return u >= 0.25 && u < 0.25 + 0x1.0p-20 ? 1 : 0;
      },
      {.hints = hints});
  CHECK(hinted.probability(1) == 0x1.0p-20);
  const auto tail = sv::enumerate_law(
      [](const sv::scripted_source& source) {
        const double u = first(source, at(0, sv::purpose::bonus_draw));
        return u >= 1e-9 && u < 1e-8 ? 1 : 0;
      },
      {.end_probes = 20});
  CHECK(std::fabs(tail.probability(1) - 9e-9) < 1e-15);
}

TEST_CASE("enumerate_law: thresholds that differ only under numbers read later are told apart") {
  // The first number picks a coin, the second tosses it; only the toss is seen.
  const std::array<double, 3> coins{0.52, 0.55, 0.58};
  const auto run = [&](const sv::scripted_source& source) {
    const auto coin = static_cast<std::size_t>(sv::uniform_integer(source, at(0, sv::purpose::draft_draw), 3));
    return first(source, at(0, sv::purpose::acceptance)) < coins[coin] ? 1 : 0;
  };
  const auto law = sv::enumerate_law(run);
  CHECK(law.complete);
  CHECK(law.searches > 1);
  CHECK_FALSE(law.grid_may_be_too_coarse);
  CHECK(std::fabs(law.probability(1) - 0.55) < 1e-15);
}

TEST_CASE("enumerate_law: dependent numbers, marginals and expectations") {
  const auto law = sv::enumerate_law([](const sv::scripted_source& source) {
    const int bits = first(source, at(0, sv::purpose::acceptance)) < 0.25 ? 1 : 0;
    const double p = bits == 1 ? 0.5 : 0.125;
    return std::vector<int>{bits, first(source, at(1, sv::purpose::acceptance)) < p ? 1 : 0};
  });
  CHECK(law.probability({1, 1}) == 0.125);
  CHECK(law.probability({0, 1}) == 0.75 * 0.125);
  const auto last = law.marginal([](const std::vector<int>& outcome) { return outcome[1]; });
  CHECK(last.probability(1) == 0.125 + 0.75 * 0.125);
  CHECK(law.expectation([](const std::vector<int>& outcome) { return outcome[0] + outcome[1]; }) ==
        0.25 + 0.125 + 0.75 * 0.125);
  const std::array<double, 2> expected{1 - 0.21875, 0.21875};
  CHECK(sv::total_variation(last, expected) == 0.0);
  const std::array<double, 1> short_one{1.0};
  CHECK(sv::total_variation(last, short_one) == 0.21875);
}

TEST_CASE("enumerate_law: COR-4 sharing one number between two roles shows in the law") {
  const auto run = [](sv::purpose residual_purpose) {
    return [residual_purpose](const sv::scripted_source& source) {
      if (first(source, at(0, sv::purpose::acceptance)) < 0.5) return 0;
      return first(source, at(0, residual_purpose)) < 0.5 ? 1 : 2;
    };
  };
  CHECK(sv::enumerate_law(run(sv::purpose::residual_draw)).probability(1) == 0.25);
  CHECK(sv::enumerate_law(run(sv::purpose::acceptance)).probability(1) == 0.0);
}

TEST_CASE("enumerate_law: limits make the law incomplete, never silently wrong") {
  const auto endless = [](const sv::scripted_source& source) {
    int heads = 0;
    while (heads < 1000 && first(source, at(static_cast<std::uint32_t>(heads), sv::purpose::acceptance)) < 0.5) ++heads;
    return heads;
  };
  CHECK_FALSE(sv::enumerate_law(endless, {.max_depth = 6}).complete);
  CHECK_FALSE(sv::enumerate_law(endless, {.max_evaluations = 500}).complete);
}
