// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/dqn_trainer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "dqn_oracle.hpp"

using namespace specverify;

namespace {

dqn_trainer make_trainer(const dqn_trainer_options& options) {
  auto made = dqn_trainer::make(options);
  REQUIRE(made.ok());
  return std::move(made).value();
}

//! Two states that alternate at random; each has one good action. The shuffled one pays what some earlier round earned.
struct two_armed {
  bool shuffled = false;
  std::array<std::uint32_t, 2> good{4, 17};
  std::mt19937 random{1};
  std::uint32_t state = 0, round = 0;
  std::vector<float> earned{};

  dqn_features now() {
    observation seen;
    for (int i = 0; i < 8; ++i) record_accepted(seen, static_cast<float>(random() % 100) / 100.0f);
    seen.uplink_state = state;
    return features_of(seen);
  }
  dqn_features reset(std::uint32_t) {
    round = 0;
    state = 0;
    return now();
  }
  [[nodiscard]] float reward_of(std::uint32_t action) const {
    const float distance = std::fabs(static_cast<float>(action) - static_cast<float>(good[state]));
    return 1.0f - 0.1f * distance;
  }
  dqn_step step(std::uint32_t action) {
    dqn_step made;
    made.reward = reward_of(action);
    earned.push_back(made.reward);
    if (shuffled) made.reward = earned[random() % earned.size()];
    state = static_cast<std::uint32_t>(random() % 2);
    made.last = ++round == 10;
    made.next = now();
    return made;
  }
  double evaluate(const dqn_weights& weights) {
    double sum = 0;
    for (int i = 0; i < 40; ++i) {
      state = static_cast<std::uint32_t>(i % 2);
      sum += static_cast<double>(reward_of(dqn_best(dqn_evaluate(weights, now())))) / 40;
    }
    return sum;
  }
};

dqn_trainer_options quick_options(std::uint64_t seed) {
  dqn_trainer_options options;
  options.seed = seed;
  options.learning_rate = 1e-3;
  options.batch = 16;
  options.epsilon_decay = 0.95;
  return options;
}

}  // namespace

TEST_CASE("dqn_trainer: the gradient is that of finite differences of the network") {
  const auto weights = std::make_unique<dqn_weights>(dqn_oracle::random_weights(11));
  constexpr std::uint32_t count = 5;  // an odd number: pairs and a single row
  CHECK_FALSE(detail::dqn_batch::make(0).ok());
  auto made = detail::dqn_batch::make(count);
  REQUIRE(made.ok());
  detail::dqn_batch& batch = made.value();
  std::vector<std::uint32_t> actions;
  std::vector<float> slopes;
  std::vector<dqn_oracle::values> inputs;
  for (std::uint32_t r = 0; r < count; ++r) {
    const dqn_features in = dqn_oracle::random_features(20 + r);
    std::copy(in.begin(), in.end(), batch.input(r));
    inputs.push_back(dqn_oracle::widen(in));
    actions.push_back((7 * r + 3) % dqn_actions);
    slopes.push_back(0.5f - 0.3f * static_cast<float>(r));
  }
  batch.forward(*weights, count);
  const dqn_oracle::values wide = dqn_oracle::widen(*weights);
  for (std::uint32_t r = 0; r < count; ++r) {
    const auto expected = dqn_oracle::evaluate(wide, inputs[r]);
    for (std::uint32_t a = 0; a < dqn_actions; ++a)
      CHECK(static_cast<double>(batch.values(r)[a]) == doctest::Approx(expected[a]).epsilon(1e-4));
  }
  const auto gradient = std::make_unique<dqn_weights>();
  batch.backward(*weights, actions, slopes, *gradient);
  const auto value = [&](const dqn_oracle::values& at) {
    double sum = 0;
    for (std::uint32_t r = 0; r < count; ++r)
      sum += static_cast<double>(slopes[r]) * dqn_oracle::evaluate(at, inputs[r])[actions[r]];
    return sum;
  };
  double largest = 0;
  for (const float g : gradient->values) largest = std::max(largest, std::fabs(static_cast<double>(g)));
  std::uint32_t seen_zero = 0, seen_other = 0;
  double gradient_error = 0;
  for (std::size_t layer = 0; layer < dqn_layers.size(); ++layer) {
    const std::uint32_t span = dqn_layers[layer].end() - dqn_layers[layer].offset;
    for (std::uint32_t k = 0; k < 24; ++k) {  // weights all over the layer, and its last bias
      const std::uint32_t at = k == 23 ? dqn_layers[layer].end() - 1 : dqn_layers[layer].offset + (k * 7919u) % span;
      dqn_oracle::values up = wide, down = wide;
      up[at] += 1e-5;
      down[at] -= 1e-5;
      const double slope = (value(up) - value(down)) / 2e-5;
      gradient_error = std::max(gradient_error, std::fabs(static_cast<double>(gradient->values[at]) - slope) / largest);
      (std::fabs(slope) < 1e-12 ? seen_zero : seen_other) += 1;
    }
  }
  CHECK(gradient_error <= 1e-4);
  CHECK(seen_other > 50);
  CHECK(seen_zero > 5);  // rectified units and actions that were not taken
}

TEST_CASE("dqn_trainer: double Q-learning towards a copied network, a step of Adam") {
  dqn_trainer_options options;
  options.batch = options.replay = 1;
  options.copy_every = 3;
  options.discount = 0.5;
  options.learning_rate = 1e-3;
  for (const bool double_network : {true, false}) {
    options.double_network = double_network;
    dqn_trainer trainer = make_trainer(options);
    CHECK_FALSE(trainer.learn());
    dqn_oracle::values target = dqn_oracle::widen(trainer.weights());
    for (std::uint32_t update = 1; update <= 10; ++update) {
      dqn_transition made;
      made.state = dqn_oracle::random_features(100 + update);
      made.next = dqn_oracle::random_features(200 + update);
      made.reward = 0.25f * static_cast<float>(update);
      made.action = (5 * update) % dqn_actions;
      made.last = update % 4 == 0;
      trainer.remember(made);
      const dqn_oracle::values online = dqn_oracle::widen(trainer.weights());
      const auto next_target = dqn_oracle::evaluate(target, dqn_oracle::widen(made.next));
      const std::size_t pick = double_network
                                   ? dqn_oracle::best(dqn_oracle::evaluate(online, dqn_oracle::widen(made.next)))
                                   : dqn_oracle::best(next_target);
      const double wanted = static_cast<double>(made.reward) + (made.last ? 0 : 0.5 * next_target[pick]);
      const double error = dqn_oracle::evaluate(online, dqn_oracle::widen(made.state))[made.action] - wanted;
      REQUIRE(trainer.learn());
      CHECK(trainer.last_loss() == doctest::Approx(error * error).epsilon(1e-4));
      const dqn_oracle::values after = dqn_oracle::widen(trainer.weights());
      const std::size_t bias = dqn_layers[7].bias() + made.action;
      // Adam's first step
      if (update == 1) CHECK(after[bias] - online[bias] == doctest::Approx(error > 0 ? -1e-3 : 1e-3).epsilon(1e-3));
      CHECK((after[bias] - online[bias]) * error < 0);
      if (update % 3 == 0) target = after;
    }
  }
}

TEST_CASE("dqn_trainer: the same seed gives the same weights, another seed others") {
  std::vector<std::vector<float>> found;
  for (const std::uint64_t seed : {std::uint64_t{5}, std::uint64_t{5}, std::uint64_t{6}}) {
    dqn_trainer trainer = make_trainer(quick_options(seed));
    two_armed world;
    train(trainer, world, {12, 4, 1});
    found.emplace_back(trainer.weights().values.begin(), trainer.weights().values.end());
    CHECK(trainer.updates() == 12 * 10 - 15);
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] != found[2]);
}

TEST_CASE("dqn_trainer: learns which action is good in which state, and nothing from shuffled rewards") {
  for (const bool shuffled : {false, true}) {
    if (shuffled && std::getenv("SPECVERIFY_EMULATED") != nullptr) continue;  // left to the machine's own legs
    dqn_trainer trainer = make_trainer(quick_options(2));
    two_armed world;
    world.shuffled = shuffled;
    train(trainer, world, {70, 10, 1});
    two_armed fresh;
    // those that training ended with, whatever the rewards were
    const double score = fresh.evaluate(trainer.weights());
    CAPTURE(score);
    CHECK((shuffled ? score < 0.7 : score > 0.9));
    if (!shuffled) CHECK(fresh.evaluate(trainer.best()) > 0.9);
    CHECK(trainer.epsilon() == doctest::Approx(std::pow(0.95, 70)).epsilon(1e-6));
  }
}

TEST_CASE("dqn_trainer: exploration goes from every action to the best") {
  dqn_trainer_options options = quick_options(3);
  dqn_trainer trainer = make_trainer(options);
  const dqn_features in = dqn_oracle::random_features(1);
  std::array<int, dqn_actions> tally{};
  for (int i = 0; i < 2200; ++i) tally[trainer.act(in)] += 1;
  CHECK(*std::min_element(tally.begin(), tally.end()) > 60);
  for (int i = 0; i < 1000; ++i) trainer.end_episode();
  CHECK(trainer.epsilon() == 0.01);
  int best = 0;
  for (int i = 0; i < 1000; ++i) best += trainer.act(in) == dqn_best(dqn_evaluate(trainer.weights(), in)) ? 1 : 0;
  CHECK(best > 970);
}

TEST_CASE("dqn_trainer: the best checkpoint stays, and bad options are named") {
  dqn_trainer trainer = make_trainer(quick_options(4));
  const auto first = std::make_unique<dqn_weights>(trainer.weights());
  CHECK(trainer.best().values == first->values);
  trainer.consider(2.0);
  REQUIRE(trainer.set_weights(dqn_oracle::random_weights(9)).ok());
  trainer.consider(1.0);
  CHECK(trainer.best().values == first->values);
  CHECK(trainer.best_score() == 2.0);
  trainer.consider(3.0);
  CHECK(trainer.best().values == trainer.weights().values);
  const double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});
  trainer.consider(not_a_number);
  CHECK(trainer.best_score() == 3.0);
  auto wrong = std::make_unique<dqn_weights>();
  wrong->values[3] = std::bit_cast<float>(0x7FC00000u);
  CHECK(trainer.set_weights(*wrong).code == errc::value_not_finite);
  const auto where = [](auto change) {
    dqn_trainer_options options;
    change(options);
    const auto made = dqn_trainer::make(options);
    return made.ok() ? 0u : made.error().where;
  };
  CHECK(where([](auto& o) { o.learning_rate = 0; }) == 1);
  CHECK(where([](auto& o) { o.discount = 1; }) == 2);
  CHECK(where([](auto& o) { o.batch = 0; }) == 3);
  CHECK(where([](auto& o) { o.replay = 10; }) == 4);
  CHECK(where([](auto& o) { o.copy_every = 0; }) == 5);
  CHECK(where([](auto& o) { o.epsilon_start = 1.5; }) == 6);
  CHECK(where([](auto& o) { o.epsilon_end = 2; }) == 7);
  CHECK(where([](auto& o) { o.epsilon_decay = 0; }) == 8);
  CHECK(where([&](auto& o) { o.discount = not_a_number; }) == 2);
  CHECK(where([&](auto& o) { o.epsilon_start = not_a_number; }) == 6);
}

TEST_CASE("dqn_trainer: a transition that the network cannot learn from is not kept") {
  dqn_trainer_options options;
  options.batch = options.replay = 1;
  dqn_trainer trainer = make_trainer(options);
  dqn_transition made;
  made.action = dqn_actions;
  CHECK_FALSE(trainer.remember(made));
  made.action = dqn_actions - 1;
  made.reward = std::bit_cast<float>(0x7FC00000u);
  CHECK_FALSE(trainer.remember(made));
  CHECK_FALSE(trainer.learn());
  made.reward = 1;
  CHECK(trainer.remember(made));
  CHECK(trainer.learn());
}
