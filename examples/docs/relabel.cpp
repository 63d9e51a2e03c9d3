// SPDX-License-Identifier: Apache-2.0
// Three important mismatches of five: a good link keeps all of them as "reject", a poor one fewer, and never another.
#include <specverify/decision_head/relabel.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<std::uint32_t, 5> positions{3, 5, 9, 20, 31};
  const std::array<std::uint8_t, 5> important{1, 0, 1, 0, 1};
  std::array<double, 5> scores{};
  relabel_options options;
  options.minimum_share = 0.3;
  if (!smooth(positions, important, options, scores).ok()) return 1;
  std::array<std::uint8_t, 5> good{}, poor{};
  const philox source{{{1, 2}}};
  const relabel_episode episode{positions, important, scores};
  if (!relabel(episode, link_quality(1e9, 0), source, options, good).ok() || good != important) return 2;
  if (!relabel(episode, link_quality(20e6, 1e-3), source, options, poor).ok()) return 3;
  for (std::size_t j = 0; j < poor.size(); ++j) {
    if (poor[j] > good[j]) return 4;
  }
  // The hard form: the two largest scores, the crowded ones.
  if (!label_by_budget(scores, important, 2, poor).ok()) return 5;
  return poor == std::array<std::uint8_t, 5>{1, 0, 1, 0, 0} ? 0 : 6;
}
