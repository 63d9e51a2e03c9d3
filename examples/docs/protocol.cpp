// SPDX-License-Identifier: Apache-2.0
// Which way hidden states travel on two links, by the round trip alone and by the model.
#include <specverify/policy/protocol.hpp>

int main() {
  using namespace specverify;
  const protocol_model model;  // vectors of 2048 numbers, 16 bits each
  mismatch_history history;
  for (int round = 0; round < 100; ++round) history.record(16, 4, 2);  // 4 mismatches in 16 drafts
  channel_state link;
  link.uplink_rate = link.downlink_rate = 20e6;
  link.round_trip = 0.005;  // at most 12 vectors saved against 3.1 that a second exchange costs
  if (model.choose(16, link, history.of(16)) != hidden_protocol::selective) return 1;
  link.uplink_rate = link.downlink_rate = 500e6;  // against 76
  if (model.choose(16, link, history.of(16)) != hidden_protocol::full) return 2;
  return round_trip_rule{}.choose(link.round_trip) == hidden_protocol::selective ? 0 : 3;
}
