// SPDX-License-Identifier: Apache-2.0
// Runs a device and a cloud in one C program. A small model drafts, a large model verifies, and the text has the large
// model's distribution.
#include <specverify_c.h>
#include <stdio.h>

#include "toy.h"

typedef struct model {
  float noise, rows[5][toy_vocab_size];
} model;
static int32_t feed(void* self, uint32_t position, const int32_t* tokens, size_t count, uint32_t rows) {
  model* const me = (model*)self;
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t v = 0; v < toy_vocab_size; ++v) me->rows[i][v] = toy_logit(tokens[count - rows + i], v, me->noise);
  return (void)position, 0;
}
static int32_t row(void* self, uint32_t i, specverify_row* given) {
  *given = specverify_logits(((model*)self)->rows[i], toy_vocab_size);
  return 0;
}
static int32_t truncate_to(void* self, uint32_t n) { return (void)self, (void)n, 0; }

int main(void) {
  static model small = {2, {{0}}}, large = {0, {{0}}};
  const specverify_model drafter = specverify_model_of(&small, feed, row, truncate_to);
  const specverify_model target = specverify_model_of(&large, feed, row, truncate_to);
  const specverify_system system = specverify_system_named("k-sqs");
  specverify_edge_options device = specverify_edge_defaults();
  specverify_cloud_options service = specverify_cloud_defaults();
  device.vocab_size = service.vocab_size = toy_vocab_size;
  device.token_budget = 40;
  service.salt = 0x5eed;  // your salt must differ between sessions and come from a secure random source
  specverify_secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3", device.secret);
  specverify_secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9", service.secret);
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  specverify_status why = specverify_edge_create(&device, &system, NULL, &edge);
  if (why.code == 0) why = specverify_cloud_create(&service, &system, NULL, &cloud);
  if (why.code == 0) why = specverify_edge_start(edge, (const int32_t[]){1}, 1, 0);
  if (why.code == 0) why = specverify_run_pair(edge, &drafter, cloud, &target, NULL);
  size_t count = 0;
  const int32_t* const text = specverify_edge_text(edge, &count, NULL);
  for (size_t i = 0; i < count; ++i) printf("%d%c", (int)text[i], i + 1 < count ? ' ' : '\n');
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
  return why.code != 0 || fflush(stdout) != 0;
}
