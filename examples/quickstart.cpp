// SPDX-License-Identifier: Apache-2.0
// Runs a device and a cloud in one program. The text has the distribution of the large model, which verifies drafts.
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <thread>

using namespace specverify;
// Replace this by your models. Here logits depend on the last token; the small model sees the large one's with noise.
struct toy_model {
  static constexpr std::uint32_t vocab_size = 1000;
  double noise;
  std::vector<float> rows{};

  status feed(std::uint32_t, std::span<const token_id> tokens, std::uint32_t wanted) {
    rows.clear();
    for (const token_id last : tokens.last(wanted)) {
      for (std::uint32_t v = 0; v < vocab_size; ++v) {
        const random_block bits = philox{}({v, static_cast<std::uint32_t>(last), 0, purpose::training, 0});
        const double logit = -3 * std::log(1 - decision_uniform(bits, 0)) + noise * decision_uniform(bits, 1);
        rows.push_back(static_cast<float>(logit));
      }
    }
    return {};
  }
  row_view<float> row(std::uint32_t i) {
    return logits_row(std::span<const float>(rows).subspan(i * vocab_size, vocab_size));
  }
  void truncate(std::uint32_t) {}
};

status run_cloud(message_pipe& pipe) {
  auto link = pipe.cloud();
  const session_secret secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
  const std::uint64_t salt = salt_from(std::random_device{});  // must differ between sessions
  auto cloud = make_cloud({.secret = secret, .salt = salt, .vocab_size = toy_model::vocab_size});
  toy_model large{0.0};
  return cloud ? serve(*cloud, large, link) : cloud.error();
}

status run_device(message_pipe& pipe) {
  auto link = pipe.edge();
  constexpr std::uint32_t V = toy_model::vocab_size;
  const session_secret secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  auto edge = make_edge({.session_id = 1, .secret = secret, .vocab_size = V, .token_budget = 40}, top_k{16});
  if (!edge) return edge.error();
  toy_model small{2.0};
  const auto show = [](const session_output& out) {
    for (const token_id token : out.tokens) std::printf(" %d", token);
    std::printf("   (%u drafts accepted)\n", out.accepted);
  };
  return generate(*edge, std::array<token_id, 1>{1}, small, link, on_committed(show)).error();
}

int main() {
  message_pipe pipe;
  status cloud;
  std::thread server([&] { cloud = run_cloud(pipe); });
  const status device = run_device(pipe);
  server.join();
  return cloud.ok() && device.ok() && std::fflush(stdout) == 0 ? 0 : 1;
}
