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
  std::vector<channel_vector> seen;
  for (const link& one : {link{20e6, 20e6, 1e-3, 1e-3, 0.05}, link{500e6, 500e6, 1e-3, 1e-3, 0.005}}) {
    const auto features = channel_features(one);
    if (!features) return 1;
    seen.push_back(*features);
  }
  const auto used = standardisation_of(seen);
  if (!used) return 2;
  const channel_vector c = standardise(seen[1], *used);
  if (std::fabs(c[0] - 1) > 1e-5f || c[2] != 0 || std::fabs(c[4] + 1) > 1e-5f) return 3;
  // Hidden states of another kind than the head was trained on are refused.
  const head_shape shape{hidden_mode::predicting, 96, 128, 32};
  return check_states(shape, hidden_mode::consuming, 96, 128).code == errc::hidden_mode_mismatch ? 0 : 4;
}
