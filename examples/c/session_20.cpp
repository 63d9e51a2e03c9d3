// SPDX-License-Identifier: Apache-2.0
// Runs the session of session.c in C++20, with the same keys and the same text.
#include <cstdio>
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>
#include <thread>
#include "toy.h"

using namespace specverify;
struct model {
  float noise;
  std::vector<float> rows{};
  status feed(std::uint32_t, std::span<const token_id> tokens, std::uint32_t wanted) {
    rows.clear();
    for (const token_id last : tokens.last(wanted))
      for (std::uint32_t v = 0; v < toy_vocab_size; ++v) rows.push_back(toy_logit(last, v, noise));
    return {};
  }
  row_view<float> row(std::uint32_t i) {
    return logits_row(std::span<const float>(rows).subspan(i * toy_vocab_size, toy_vocab_size));
  }
  void truncate(std::uint32_t) {}
};

int main() {
  auto edge = make_edge(
      {.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3"), .vocab_size = toy_vocab_size, .token_budget = 40},
      "k-sqs");
  auto cloud = make_cloud(
      {.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"), .salt = 0x5eed, .vocab_size = toy_vocab_size},
      "k-sqs");
  if (!edge || !cloud) return 1;
  message_pipe pipe;
  model small{2}, large{0};
  const std::jthread server([&, service = pipe.cloud()]() mutable { (void)serve(*cloud, large, service); });
  auto device = pipe.edge();  // declared last, so it closes before `server` is joined
  const status why = generate(*edge, std::array<token_id, 1>{1}, small, device).error();
  const std::span<const token_id> text = edge->text();
  for (std::size_t i = 0; i < text.size(); ++i) std::printf("%d%c", text[i], i + 1 < text.size() ? ' ' : '\n');
  return why.ok() && std::fflush(stdout) == 0 ? 0 : 1;
}
