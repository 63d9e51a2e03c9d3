// SPDX-License-Identifier: Apache-2.0
// Learns in a second that on this link the first action pays, saves the weights, loads them, plans with them.
#include <specverify/policy/dqn_trainer.hpp>

using namespace specverify;

struct one_good_action {
  std::uint32_t round = 0;
  dqn_features reset(std::uint32_t) { return features_of({}); }
  dqn_step step(std::uint32_t action) { return {features_of({}), action == 0 ? 1.0f : 0.0f, ++round % 10 == 0}; }
  double evaluate(const dqn_weights& weights) { return dqn_best(dqn_evaluate(weights, features_of({}))) == 0 ? 1 : 0; }
};

int main() {
  dqn_trainer_options options;
  options.learning_rate = 1e-3;
  options.batch = 16;
  auto trainer = dqn_trainer::make(options);
  if (!trainer.ok()) return 1;
  one_good_action world;
  train(trainer.value(), world, {30, 10, 1});  // 30 episodes of 10 rounds
  std::vector<std::byte> file(dqn_file_bytes);
  static dqn_weights weights;
  if (!write_dqn(trainer.value().best(), file) || !read_dqn(file, weights.values)) return 2;
  const auto window = dqn_window::make(weights);
  return window.ok() && window.value().begin({}) == draft_plan{12, 720} ? 0 : 3;
}
