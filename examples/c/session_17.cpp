// SPDX-License-Identifier: Apache-2.0
// Runs the session of session.c in C++17, with the same keys and the same text.
#include <specverify_c.h>
#include <cstdio>
#include <vector>
#include "toy.h"

struct model {
  float noise;
  std::vector<float> rows{};
};
static int32_t feed(void* self, uint32_t, const int32_t* tokens, size_t count, uint32_t rows) {
  auto& [noise, values] = *static_cast<model*>(self);
  values.clear();
  for (size_t i = count - rows; i < count; ++i)
    for (uint32_t v = 0; v < toy_vocab_size; ++v) values.push_back(toy_logit(tokens[i], v, noise));
  return 0;
}
static int32_t row(void* self, uint32_t i, specverify_row* given) {
  *given = specverify_logits(static_cast<model*>(self)->rows.data() + i * toy_vocab_size, toy_vocab_size);
  return 0;
}
static int32_t truncate_to(void*, uint32_t) { return 0; }

int main() {
  model small{2}, large{0};
  const auto drafter = specverify_model_of(&small, feed, row, truncate_to);
  const auto target = specverify_model_of(&large, feed, row, truncate_to);
  const auto system = specverify_system_named("k-sqs");
  auto device = specverify_edge_defaults();
  auto service = specverify_cloud_defaults();
  device.vocab_size = service.vocab_size = toy_vocab_size, device.token_budget = 40, service.salt = 0x5eed;
  specverify_secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3", device.secret);
  specverify_secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9", service.secret);
  specverify_edge* edge = nullptr;
  specverify_cloud* cloud = nullptr;
  const int32_t prompt = 1;
  specverify_status why = specverify_edge_create(&device, &system, nullptr, &edge);
  if (!why.code) why = specverify_cloud_create(&service, &system, nullptr, &cloud);
  if (!why.code) why = specverify_edge_start(edge, &prompt, 1, 0);
  if (!why.code) why = specverify_run_pair(edge, &drafter, cloud, &target, nullptr);
  size_t count = 0;
  const int32_t* text = specverify_edge_text(edge, &count, nullptr);
  for (size_t i = 0; i < count; ++i) std::printf("%d%c", text[i], i + 1 < count ? ' ' : '\n');
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
  return why.code != 0 || std::fflush(stdout) != 0;
}
