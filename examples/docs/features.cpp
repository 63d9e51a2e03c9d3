// SPDX-License-Identifier: Apache-2.0
// The channel as a decision head sees it: logarithms of the rates, losses, round trip, standardised as in training.
#include <specverify/decision_head/features.hpp>

#include <cmath>
#include <vector>

int main() {
  using namespace specverify;
  struct link {
    double uplink_rate, downlink_rate, uplink_loss, downlink_loss, round_trip;
  };
  std::vector<channel_vector> seen(2);
  if (!channel_features(link{20e6, 20e6, 1e-3, 1e-3, 0.05}, seen[0]).ok()) return 1;
  if (!channel_features(link{500e6, 500e6, 1e-3, 1e-3, 0.005}, seen[1]).ok()) return 1;
  channel_standardisation used;
  if (!standardisation_of(seen, used).ok()) return 2;
  const channel_vector c = standardise(seen[1], used);
  if (std::fabs(c[0] - 1) > 1e-5f || c[2] != 0 || std::fabs(c[4] + 1) > 1e-5f) return 3;
  // Hidden states of another kind than the head was trained on are refused.
  const head_shape shape{hidden_mode::predicting, 96, 128, 32};
  return check_states(shape, hidden_mode::consuming, 96, 128).code == errc::hidden_mode_mismatch ? 0 : 4;
}
