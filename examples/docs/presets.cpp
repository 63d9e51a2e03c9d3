// SPDX-License-Identifier: Apache-2.0
// K-SQS with K = 16, l = 100 and L = 4: each number is said once, and the cloud's buffers fit the same preset.
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>

#include <random>

int main() {
  using namespace specverify;
  const auto system = k_sqs({.support_size = 16, .resolution = 100, .max_draft_length = 4});
  edge_options device;
  device.session_id = 7;
  device.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  device.vocab_size = 32000;
  const auto edge = make_edge(device, system);
  if (!edge.ok()) return 1;

  cloud_options server;
  server.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
  server.salt = salt_from(std::random_device{});
  server.vocab_size = 32000;
  if (!make_cloud(server, system).ok()) return 2;

  device.format = law_format::fp16_row;  // a second format, which would be ignored: refused
  return make_edge(device, system).error().where == preset_at_format ? 0 : 3;
}
