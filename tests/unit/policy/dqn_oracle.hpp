// SPDX-License-Identifier: Apache-2.0
//! The network once more, in double and layer by layer as its description says: for the tests of dqn and its trainer.
#ifndef SPECVERIFY_TESTS_UNIT_POLICY_DQN_ORACLE_HPP
#define SPECVERIFY_TESTS_UNIT_POLICY_DQN_ORACLE_HPP

#include <specverify/policy/dqn.hpp>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace dqn_oracle {

using values = std::vector<double>;

//! Weights in the order main 64-128-128, auxiliary 2-32-32, uplink 1-16-16, joined 176-128, output 128-22: matrix by
//! input, then biases.
inline values evaluate(const values& weights, const values& in) {
  std::size_t at = 0;
  const auto layer = [&](const values& x, std::size_t outputs, bool rectified) {
    values y(outputs, 0.0);
    for (const double xi : x) {
      for (double& yo : y) yo += xi * weights[at++];
    }
    for (double& yo : y) yo += weights[at++];
    for (double& yo : y) yo = rectified && yo < 0 ? 0 : yo;
    return y;
  };
  const values main = layer(layer(values(in.begin(), in.begin() + 64), 128, true), 128, true);
  const values auxiliary = layer(layer(values(in.begin() + 64, in.begin() + 66), 32, true), 32, true);
  const values uplink = layer(layer(values(in.begin() + 66, in.end()), 16, true), 16, true);
  values joined = main;
  joined.insert(joined.end(), auxiliary.begin(), auxiliary.end());
  joined.insert(joined.end(), uplink.begin(), uplink.end());
  return layer(layer(joined, 128, true), 22, false);
}

inline values widen(const specverify::dqn_weights& weights) { return {weights.values.begin(), weights.values.end()}; }
inline values widen(const specverify::dqn_features& in) { return {in.begin(), in.end()}; }

inline specverify::dqn_weights random_weights(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> around(-0.1f, 0.1f);
  specverify::dqn_weights made;
  for (float& value : made.values) value = around(random);
  return made;
}

inline specverify::dqn_features random_features(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> probability(0.01f, 1.0f);
  specverify::observation seen;
  const auto count = static_cast<std::uint32_t>(random() % 80);
  for (std::uint32_t i = 0; i < count; ++i) specverify::record_accepted(seen, probability(random));
  seen.uplink_state = static_cast<std::uint32_t>(random() % 2);
  return specverify::features_of(seen);
}

inline std::size_t best(const values& v) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < v.size(); ++i) at = v[i] > v[at] ? i : at;
  return at;
}

}  // namespace dqn_oracle

#endif
