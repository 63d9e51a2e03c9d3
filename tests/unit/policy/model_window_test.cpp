// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/model_window.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace specverify;

namespace {

throughput_model paper_model() {
  throughput_model model;
  model.vocab_size = 50272;
  model.times = {8e-3, 45e-3};
  model.link.uplink_rate = 350e3;
  return model;
}

//! E[tokens] / time by the formulas, for one rate and one acceptance.
double by_hand(double acceptance, double rate, unsigned length, double bits_per_token) {
  double tokens = 0;
  for (unsigned k = 0; k <= length; ++k) tokens += std::pow(acceptance, k);
  return tokens / (length * (8e-3 + bits_per_token / rate) + 45e-3);
}

}  // namespace

TEST_CASE("model_window: the modelled throughput is expected tokens over round time") {
  observation seen;
  const throughput_model model = paper_model();
  for (const unsigned length : {1u, 4u, 12u}) {
    CHECK(modelled_throughput(model, seen, {length, 240}) ==
          doctest::Approx(by_hand(0.8, 350e3, length, 2209)).epsilon(1e-6));
    CHECK(modelled_throughput(model, seen, {length, 720}) ==
          doctest::Approx(by_hand(0.8, 350e3, length, 5467)).epsilon(1e-6));
  }
  seen.uplink_rate = 4e6f;
  CHECK(modelled_throughput(model, seen, {4, 240}) == doctest::Approx(by_hand(0.8, 4e6, 4, 2209)).epsilon(1e-6));
  // 2.21 ms of uplink
  CHECK(modelled_round_time(model, seen, {4, 240}) == doctest::Approx(45e-3 + 32e-3 + 2.209e-3).epsilon(1e-6));
  seen.round_trip = 0.05f;
  seen.downlink_rate = 1000.0f;  // 3 + 16 bits of feedback
  CHECK(modelled_round_time(model, seen, {4, 240}) ==
        doctest::Approx(45e-3 + 32e-3 + 2.209e-3 + 0.05 + 0.019).epsilon(1e-6));
  seen.draft_time = 0.001f;
  CHECK(modelled_round_time(model, seen, {4, 240}) ==
        doctest::Approx(45e-3 + 4e-3 + 2.209e-3 + 0.05 + 0.019).epsilon(1e-6));
}

TEST_CASE("model_window: longer and finer on a fast link, and what was accepted decides") {
  const model_window window{paper_action_grid(), paper_model()};
  observation seen;
  const draft_plan slow = window.begin(seen);
  seen.uplink_rate = 4e6f;
  const draft_plan fast = window.begin(seen);
  CHECK(slow.resolution == 240);
  CHECK(fast.max_draft_length > slow.max_draft_length);
  for (std::uint32_t i = 0; i < window.grid.size; ++i)
    CHECK(modelled_throughput(window.model, seen, window.grid[i]) <=
          modelled_throughput(window.model, seen, window.grid[window.choose(seen)]));
  for (int round = 0; round < 200; ++round) record_round(seen, 4, 0, 1, 100, 240);
  for (int round = 0; round < 200; ++round) record_round(seen, 4, 4, 5, 100, 720);
  CHECK(window.begin(seen) == draft_plan{12, 720});
  for (int round = 0; round < 400; ++round) record_round(seen, 4, 0, 1, 100, 720);
  CHECK(window.begin(seen) == draft_plan{1, 240});
}

TEST_CASE("model_window: it learns the acceptance of drafts without a lattice, and their size") {
  const model_window window{paper_action_grid(), paper_model()};
  std::uint64_t state = 1;
  const auto uniform = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 40) * 0x1.0p-24;
  };
  constexpr int runs = 400;
  for (const std::uint32_t length : {1u, 4u, 8u}) {
    for (const double truth : {0.3, 0.5, 0.65, 0.8, 0.95}) {
      double sum = 0, squares = 0, within = 0;
      for (int run = 0; run < runs; ++run) {
        observation seen;
        for (std::uint32_t tested = 0; tested < 200;) {
          std::uint32_t accepted = 0;
          while (accepted < length && uniform() < truth) ++accepted;
          tested += accepted + (accepted < length ? 1u : 0u);
          record_round(seen, length, accepted, accepted + 1, 2 * length + 2);
        }
        const double error = static_cast<double>(acceptance_of(seen, 720)) - truth;
        sum += error, squares += error * error, within += std::abs(error) < 0.05 ? 1 : 0;
        const double bits = 8.0 * (2 * length + 2) / length;
        CHECK(modelled_round_time(window.model, seen, {5, 240}) ==
              doctest::Approx(45e-3 + 5 * (8e-3 + bits / 350e3)).epsilon(1e-6));
      }
      CHECK(std::abs(sum / runs) < 0.02);
      CHECK(std::sqrt(squares / runs) < 0.045);
      CHECK(within > 0.75 * runs);
    }
  }
  observation bad;
  for (int round = 0; round < 40; ++round) record_round(bad, 4, 0, 1, 10);
  CHECK(window.begin(bad).max_draft_length == 1);
}

TEST_CASE("NUM-1 model_window: an option outside its range is named before the first round") {
  CHECK(check(paper_model()).ok());
  const auto with = [](auto change) {
    throughput_model model;
    model.vocab_size = 50272;
    change(model);
    return check(model);
  };
  CHECK(with([](throughput_model& m) { m.vocab_size = 0; }) == status{errc::empty_vocabulary, part::policy, 0});
  CHECK(with([](throughput_model& m) { m.vocab_size = max_vocab_size + 1; }) ==
        status{errc::vocabulary_too_large, part::policy, 0});
  CHECK(with([](throughput_model& m) { m.support_size = 0; }) == status{errc::invalid_argument, part::policy, 1});
  CHECK(with([](throughput_model& m) { m.support_size = m.vocab_size + 1; }) ==
        status{errc::invalid_argument, part::policy, 1});
  CHECK(with([](throughput_model& m) { m.accounting = static_cast<position_accounting>(4); }) ==
        status{errc::invalid_argument, part::policy, 2});
  CHECK(with([](throughput_model& m) { m.times.draft_time = -1; }) == status{errc::invalid_duration, part::policy, 3});
  CHECK(with([](throughput_model& m) { m.times.verify_time = -1; }) == status{errc::invalid_duration, part::policy, 4});
  CHECK(with([](throughput_model& m) { m.link.uplink_rate = 0; }) == status{errc::invalid_rate, part::policy, 5});
  CHECK(with([](throughput_model& m) { m.link.downlink_loss = 1; }) == status{errc::invalid_loss, part::policy, 8});
  model_window window;
  CHECK(check(window) == status{errc::empty_vocabulary, part::policy, max_window_actions});
  window.model.vocab_size = 50272;
  CHECK(check(window).ok());
  window.model.link.round_trip = -1;
  CHECK(check(window) == status{errc::invalid_duration, part::policy, max_window_actions + 9});
  window.grid.size = 0;
  CHECK(check(window) == status{errc::invalid_argument, part::policy, 0});
}
