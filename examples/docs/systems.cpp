// SPDX-License-Identifier: Apache-2.0
// The system comes from the command line: systems k-sqs support_size=32 resolution=240. Without words: the list.
#include <specverify/session/systems.hpp>

#include <cstdio>
#include <random>
#include <vector>

int main(int count, char** words) {
  using namespace specverify;
  for (const system_info& known : systems())
    if (count < 2) std::printf("%.*s\n", static_cast<int>(known.name.size()), known.name.data());
  const std::string_view system = count < 2 ? "k_sqs" : words[1];  // k-sqs, k_sqs and ksqs are one name
  std::vector<setting> settings{{"support_size", 32}};
  for (int i = 2; i < count; ++i) {
    const auto read = setting_from(words[i]);
    if (!read) return 1;
    settings.push_back(*read);
  }
  edge_options device;
  device.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  device.vocab_size = 32000;
  const auto edge = make_edge(device, system, settings);
  if (!edge) return std::puts(message(edge.error().code)), 2;  // an unknown name: all are listed

  cloud_options server;
  server.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
  server.salt = salt_from(std::random_device{});
  server.vocab_size = 32000;
  if (!make_cloud(server, system, settings)) return 3;
  return make_edge(device, "k-sqs", {{"resolution", 0}}).error().code == errc::setting_out_of_range ? 0 : 4;
}
