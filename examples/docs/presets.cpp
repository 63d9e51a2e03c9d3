// SPDX-License-Identifier: Apache-2.0
// K-SQS with K = 16, l = 100 and L = 4: each number is said once, and the cloud's buffers fit the same preset.
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>

int main() {
  using namespace specverify;
  const auto system = k_sqs({.support_size = 16, .resolution = 100, .max_draft_length = 4});
  edge_options device;
  device.session_id = 7;
  device.secret = 0xED6E;
  device.vocab_size = 32000;
  const auto edge = make(device, system);
  if (!edge.ok()) return 1;

  cloud_options server;
  server.secret = 0xC10D;
  server.vocab_size = 32000;
  server.limits = cloud_session::limits_for(system.format_for(32000));
  if (!cloud_session::make(server).ok()) return 2;

  device.format.resolution = 240;  // a second l, which would be ignored: refused
  return make(device, system).error().where == preset_at_format ? 0 : 3;
}
