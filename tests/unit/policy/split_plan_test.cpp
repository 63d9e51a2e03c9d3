// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/split_plan.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace specverify;

TEST_CASE("split_plan: by hand") {
  split_model model;
  model.times = {20e-3, 30e-3};
  model.link.round_trip = 50e-3;
  model.link.uplink_rate = unlimited_rate;
  model.acceptance = 0.5;
  model.most_drafts = 1;
  split_plan plan = plan_split(model);  // 1.5 tokens in 20 + 30 + 50 ms, or one every 30 ms
  CHECK(plan.split == doctest::Approx(15));
  CHECK(plan.streamed == doctest::Approx(1 / 30e-3));
  CHECK(plan.streams());
  CHECK(plan.tokens_per_second == plan.streamed);

  model.times.verify_time = 200e-3;  // a busy cloud: 1.5 tokens in 270 ms, or one every 200 ms
  plan = plan_split(model);
  CHECK(plan.draft_length == 1);
  CHECK(plan.tokens_per_second == doctest::Approx(1.5 / 270e-3));
  CHECK(plan.streamed == doctest::Approx(5));

  model.link.uplink_rate = 100;  // (16 + 12) bits take 280 ms
  plan = plan_split(model);
  CHECK(plan.split == doctest::Approx(1.5 / 550e-3));
  CHECK(plan.streams());
  model.link.uplink_rate = unlimited_rate;
  model.link.downlink_rate = 100;  // 40 bits take 400 ms, which slows down both
  plan = plan_split(model);
  CHECK(plan.streamed == doctest::Approx(2.5));
  CHECK(plan.split == doctest::Approx(1.5 / 670e-3));
}

TEST_CASE("split_plan: the length with the most tokens per second") {
  split_model model;
  model.times = {5e-3, 300e-3};
  model.link.round_trip = 100e-3;
  model.link.uplink_rate = unlimited_rate;
  model.acceptance = 0.8;
  model.most_drafts = 32;
  const split_plan plan = plan_split(model);
  double most = 0;
  std::uint32_t best = 0;
  for (std::uint32_t drafts = 1; drafts <= 32; ++drafts) {
    double tokens = 0, power = 1;
    for (std::uint32_t k = 0; k <= drafts; ++k, power *= 0.8) tokens += power;
    const double speed = tokens / (5e-3 * drafts + 400e-3);
    if (speed > most) most = speed, best = drafts;
  }
  CHECK(best > 4);
  CHECK(best < 32);
  CHECK(plan.draft_length == best);
  CHECK(plan.split == doctest::Approx(most));
}

TEST_CASE("split_plan: check names the field") {
  const auto where = [](auto change) {
    split_model model;
    change(model);
    return check(model);
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(check(split_model{}).ok());
  CHECK(where([](split_model& m) { m.times.verify_time = -1; }) == status{errc::invalid_duration, part::policy, 1});
  CHECK(where([](split_model& m) { m.link.uplink_rate = 0; }).where == 2);
  CHECK(where([](split_model& m) { m.link.round_trip = nan; }).where == 6);
  CHECK(where([](split_model& m) { m.acceptance = 1.1; }) == status{errc::invalid_argument, part::policy, 7});
  CHECK(where([](split_model& m) { m.bits_per_draft = nan; }) == status{errc::invalid_argument, part::policy, 8});
  CHECK(where([](split_model& m) { m.bits_per_round = -1; }) == status{errc::invalid_argument, part::policy, 9});
  CHECK(where([](split_model& m) { m.bits_down = -1; }) == status{errc::invalid_argument, part::policy, 10});
  CHECK(where([](split_model& m) { m.most_drafts = 0; }) == status{errc::invalid_argument, part::policy, 11});
  CHECK(where([](split_model& m) { m.most_drafts = 4097; }) == status{errc::invalid_argument, part::policy, 11});
}
