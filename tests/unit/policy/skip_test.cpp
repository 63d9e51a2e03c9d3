// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/policy/skip.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace specverify;

namespace {

struct throwing_skip : always_send {
  [[nodiscard]] bool send(const skip_observation&) const { return true; }
};
struct silent_skip {  // says nothing about what it needs
  [[nodiscard]] bool send(const skip_observation&) const noexcept { return true; }
};

skip_observation uncertain(std::uint32_t disagreements, std::uint32_t samples = 20) {
  skip_observation seen;
  seen.disagreements = disagreements;
  seen.samples = samples;
  return seen;
}

template <class Skip>
status observe(const Skip& skip, const std::vector<float>& row, std::span<const float> attention,
               skip_observation& out) {
  std::vector<std::byte> memory(skip_workspace_size<Skip>(static_cast<std::uint32_t>(row.size())));
  workspace scratch{std::span<std::byte>(memory)};
  std::vector<std::byte> reading_memory(digest_workspace_size(static_cast<std::uint32_t>(row.size()), {}, {}));
  workspace reading_space{std::span<std::byte>(reading_memory)};
  const auto reading = read_row(exec::simd, logits_row(std::span<const float>(row)), {}, {}, reading_space);
  REQUIRE(reading.ok());
  const auto seen = observe_skip(*reading, skip, 1, attention, uniforms{philox{{3, 4}}, 12, 7}, scratch);
  CHECK(scratch.used() == 0);
  if (seen) out = *seen;
  return seen.error();
}

}  // namespace

TEST_CASE("skip_policy: what is one and what is not; all but always_send are lossy") {
  CHECK(skip_policy<always_send>);
  CHECK(skip_policy<random_skip>);
  CHECK(skip_policy<uncertainty_gate>);
  CHECK(skip_policy<uncertainty_and_importance_gate>);
  CHECK_FALSE(skip_policy<throwing_skip>);
  CHECK_FALSE(skip_policy<silent_skip>);
  CHECK_FALSE(skip_policy<int>);
  CHECK(always_send::strength == guarantee::unconditional);
  CHECK(random_skip::strength == guarantee::lossy);
  CHECK(uncertainty_gate::strength == guarantee::lossy);
  CHECK(uncertainty_and_importance_gate::strength == guarantee::lossy);
  CHECK(always_send{}.send({}));
}

TEST_CASE(
    "uncertainty_gate: at 0.8 of 20 a token is sent from 17 disagreements on; the comparison is exact at every grid "
    "point") {
  const uncertainty_gate gate;
  for (std::uint32_t d = 0; d <= 20; ++d) CHECK(gate.send(uncertain(d)) == (d >= 17));
  for (std::uint32_t samples = 1; samples <= 120; ++samples) {
    for (std::uint32_t j = 0; j <= samples; ++j) {
      const uncertainty_gate at{static_cast<double>(j) / static_cast<double>(samples)};
      CHECK_FALSE(at.send(uncertain(j, samples)));
      if (j < samples) CHECK(at.send(uncertain(j + 1, samples)));
    }
  }
  CHECK(uncertainty_gate{0.7}.send(uncertain(8, 10)));
  CHECK_FALSE(uncertainty_gate{0.7}.send(uncertain(7, 10)));
  CHECK(uncertainty_gate{-0.1}.send(uncertain(0)));
  CHECK_FALSE(uncertainty_gate{1.0}.send(uncertain(20)));
  CHECK(uncertainty_gate{std::numeric_limits<double>::quiet_NaN()}.send(uncertain(0)));
  CHECK(uncertainty_gate{}.send(uncertain(0, 0)));  // nothing was measured
}

TEST_CASE("random_skip: sends below its probability") {
  skip_observation seen;
  for (const double coin : {0.0, 0.25, 0.4999}) {
    seen.coin = coin;
    CHECK(random_skip{}.send(seen));
    CHECK_FALSE(random_skip{0.0}.send(seen));
    CHECK(random_skip{std::numeric_limits<double>::quiet_NaN()}.send(seen));
  }
  for (const double coin : {0.5, 0.75, 0.9999}) {
    seen.coin = coin;
    CHECK_FALSE(random_skip{}.send(seen));
    CHECK(random_skip{1.0}.send(seen));
  }
}

TEST_CASE("uncertainty_and_importance_gate: both must hold; an attention row that cannot be used means send") {
  const std::vector<float> flat{0.26f, 0.25f, 0.25f, 0.24f}, sharp{0.97f, 0.01f, 0.01f, 0.01f};
  uncertainty_and_importance_gate gate;
  gate.importance = {2, 1.5};
  skip_observation seen = uncertain(20);
  seen.attention = flat;
  CHECK(gate.send(seen));
  seen.attention = sharp;
  CHECK_FALSE(gate.send(seen));
  CHECK(gate.uncertain(seen));
  gate.importance.inverted = true;
  CHECK(gate.send(seen));
  seen.attention = {};
  CHECK(gate.send(seen));
  seen.disagreements = 16;
  CHECK_FALSE(gate.send(seen));
  CHECK_FALSE(gate.uncertain(seen));
}

TEST_CASE(
    "E25 what UI leaves open: 20 draws at temperatures up to 2, sent from 17 on, the third largest weight within 1.5 "
    "population deviations") {
  const uncertainty_and_importance_gate gate;
  CHECK(gate.perturbation.samples == 20);
  CHECK(gate.perturbation.maximum_temperature == 2);
  const auto sends = [&](std::uint32_t disagreements, const std::vector<float>& attention) {
    skip_observation seen = uncertain(disagreements);
    seen.attention = attention;
    return gate.send(seen);
  };
  const std::vector<float> three{0.26f, 0.25f, 0.25f, 0.24f};
  CHECK(sends(17, three));
  CHECK_FALSE(sends(16, three));
  // the mean of three passes 0.153, the third does not
  CHECK_FALSE(sends(20, {0.4f, 0.4f, 0.05f, 0.05f, 0.05f, 0.05f}));
  // 0.251 with n under the deviation, 0.228 with n - 1
  CHECK_FALSE(sends(20, {0.4f, 0.24f, 0.24f, 0.12f}));
  CHECK(sends(20, {0.4f, 0.26f, 0.255f, 0.085f}));  // 0.231
  CHECK_FALSE(sends(20, {0.5f, 0.5f}));             // fewer than three positions
}

TEST_CASE("observe_skip: measures what the policy asks for, and names what is missing") {
  const std::vector<float> row{0.0f, 1.0f, 0.5f};
  const std::vector<float> attention{0.5f, 0.25f, 0.25f};
  skip_observation seen;
  REQUIRE(observe(always_send{}, row, attention, seen).ok());
  CHECK(seen.position == 12);
  CHECK(seen.round == 7);
  CHECK(seen.samples == 0);
  CHECK(seen.attention.empty());
  REQUIRE(observe(random_skip{}, row, {}, seen).ok());
  CHECK(seen.coin ==
        doctest::Approx(decision_uniform(philox{{3, 4}}({12, 7, 0, purpose::skip_coin, 0}))).epsilon(1e-15));
  REQUIRE(observe(uncertainty_gate{0.8, {50, 2.0}}, row, {}, seen).ok());
  CHECK(seen.samples == 50);
  CHECK(seen.disagreements > 10);
  CHECK(seen.disagreements < 40);
  const uncertainty_and_importance_gate gate;
  REQUIRE(observe(gate, row, attention, seen).ok());
  CHECK(seen.samples == 20);
  CHECK(seen.attention.size() == 3);
  skip_observation untouched = uncertain(3, 4);
  CHECK(observe(gate, row, {}, untouched).code == errc::attention_missing);
  const std::vector<float> bad{0.5f, std::numeric_limits<float>::quiet_NaN(), 0.25f};
  CHECK(observe(gate, row, bad, untouched) == status{errc::invalid_attention, part::uncertainty, 1});
  CHECK(observe(uncertainty_gate{0.8, {0, 2.0}}, row, {}, untouched).code == errc::invalid_argument);
  CHECK(untouched.disagreements == 3);
  workspace nothing;
  std::vector<std::byte> memory(digest_workspace_size(static_cast<std::uint32_t>(row.size()), {}, {}));
  workspace space{std::span<std::byte>(memory)};
  const auto reading = read_row(exec::seq, logits_row(std::span<const float>(row)), {}, {}, space);
  REQUIRE(reading.ok());
  CHECK(observe_skip(*reading, gate, 1, attention, uniforms{philox{}, 0, 0}, nothing).error().code ==
        errc::workspace_too_small);
}

TEST_CASE(
    "T23 uncertainty_and_importance_gate: on a fixed trace uploads fall with k and with the threshold, and grow with "
    "gamma") {
  struct recorded {
    skip_observation seen{};
    std::vector<float> attention{};
  };
  std::vector<recorded> trace(400);
  const philox numbers{{8, 9}};
  for (std::uint32_t i = 0; i < trace.size(); ++i) {
    trace[i].seen =
        uncertain(static_cast<std::uint32_t>(uniform_integer(numbers, {i, 0, 0, purpose::training, 0}, 21)));
    double sum = 0;
    for (std::uint32_t j = 0; j < 10 + i % 50; ++j) {
      const double u = decision_uniform(numbers({i, 1, j, purpose::training, 0}));
      trace[i].attention.push_back(static_cast<float>(u * u * u * u + 0.01));
      sum += static_cast<double>(trace[i].attention.back());
    }
    for (float& weight : trace[i].attention) weight = static_cast<float>(static_cast<double>(weight) / sum);
    trace[i].seen.attention = trace[i].attention;
  }
  const auto uploads = [&](const uncertainty_and_importance_gate& gate) {
    int count = 0;
    for (const recorded& step : trace) count += gate.send(step.seen) ? 1 : 0;
    return count;
  };
  int fewest = 400, most = 0;
  for (const auto statistic : {importance_statistic::kth_largest, importance_statistic::mean_of_top_k}) {
    for (const double threshold : {0.2, 0.5, 0.8}) {
      for (std::uint32_t k = 1; k <= 13; ++k) {
        for (const double gamma : {0.25, 0.5, 1.0, 1.5, 2.0}) {
          const int here = uploads({threshold, {k, gamma, false, statistic}, {}});
          CHECK(uploads({threshold, {k + 1, gamma, false, statistic}, {}}) <= here);
          CHECK(uploads({threshold, {k, gamma + 0.25, false, statistic}, {}}) >= here);
          CHECK(uploads({threshold + 0.1, {k, gamma, false, statistic}, {}}) <= here);
          fewest = here < fewest ? here : fewest;
          most = here > most ? here : most;
        }
      }
    }
  }
  CHECK(fewest < 10);
  CHECK(most > 200);
}

TEST_CASE("NUM-1 skip: an option outside its range is named before any row") {
  CHECK(check(random_skip{}).ok());
  CHECK(check(random_skip{1.0}).ok());
  CHECK(check(random_skip{1.1}) == status{errc::invalid_probability, part::policy, 0});
  CHECK(check(random_skip{-0.1}) == status{errc::invalid_probability, part::policy, 0});
  CHECK(check(uncertainty_gate{}).ok());
  CHECK(check(uncertainty_gate{0.8, {0, 2.0}}) == status{errc::invalid_argument, part::policy, 1});
  CHECK(check(uncertainty_gate{0.8, {20, 0.0}}) == status{errc::invalid_argument, part::policy, 2});
  CHECK(check(uncertainty_and_importance_gate{}).ok());
  CHECK(check(uncertainty_and_importance_gate{.importance = {.k = 0}}) ==
        status{errc::invalid_argument, part::policy, 1});
  CHECK(check(uncertainty_and_importance_gate{.perturbation = {0, 2.0}}) ==
        status{errc::invalid_argument, part::policy, 5});
}
