// SPDX-License-Identifier: Apache-2.0
// Trains a head to reject when the first number of the drafter's state is positive. Needs Eigen.
#if __has_include(<Eigen/Core>)
#include <specverify/decision_head/trainer.hpp>

int main() {
  using namespace specverify;
  std::vector<float> drafter, target;
  std::vector<std::uint32_t> group, state;
  std::vector<std::uint8_t> labels;
  for (std::uint32_t i = 0; i < 400; ++i) {
    drafter.insert(drafter.end(), {i % 2 == 0 ? 1.0f : -1.0f, static_cast<float>(i % 7)});
    target.push_back(static_cast<float>(i % 5));
    group.push_back(i / 4);
    state.push_back(i);
    labels.push_back(i % 2 == 0 ? 1 : 0);
  }
  const std::vector<channel_vector> channel(400, channel_vector{7, 7, 0, 0, 0.02f});
  auto run = head_trainer::make({.width = 16, .learning_rate = 3e-2},
                                {hidden_mode::predicting, 2, 1, drafter, target, group, state, channel, labels});
  if (!run.ok()) return 1;
  while (!run.value().finished()) run.value().run_epoch();
  const auto head = run.value().head();
  if (!head) return 2;
  const auto rho = head_score(head->view(), drafter_input::hidden_state, {{1.0f, 3.0f}}, {{2.0f}}, {});
  return rho && *rho > 0.9 ? 0 : 3;
}
#else
int main() { return 0; }
#endif
