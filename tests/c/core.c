// SPDX-License-Identifier: Apache-2.0
// Rounds without a session in C11: laws, draws, messages, verdicts, bits; every buffer by the size that is asked for.
#include "check.h"

#include <specverify_c_core.h>

static engine small, large;

// Memory as large as a function said; one byte less is refused with the same number.
#define WITH_SPACE(space, call)                                         \
  do {                                                                  \
    (space).data = NULL, (space).size = 0;                              \
    specverify_status first = (call);                                   \
    IS(first, output_too_small);                                        \
    (space).data = malloc(first.where), (space).size = first.where - 1; \
    specverify_status second = (call);                                  \
    IS(second, output_too_small);                                       \
    CHECK(second.where == first.where);                                 \
    (space).size = first.where;                                         \
    IS(call, ok);                                                       \
  } while (0)

enum { most = 4 };

// One round of a system: draft, send, read, verify. Says how many tokens stand.
static uint32_t play(const char* name, uint32_t number) {
  const specverify_system system = system_of(name);
  specverify_round round = specverify_round_defaults();
  round.vocab_size = V, round.base_length = 10, round.round = number;
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  specverify_key draft_key, verdict_key;
  IS(specverify_draft_key(device.secret, 1, &draft_key), ok);
  IS(specverify_verdict_key(service.secret, 1, service.salt, &verdict_key), ok);
  const uint32_t length = strcmp(name, "compressed-hlm") == 0 || strcmp(name, "hlm") == 0 ? 1 : most;
  specverify_draft drafts[most], read[most];
  specverify_space spaces[most];
  int32_t tokens[most + 1] = {(int32_t)number};
  for (uint32_t i = 0; i < length; ++i) {
    CHECK(feed(&small, 9 + i, tokens + i, 1, 1) == 0);
    const specverify_row its = row_of(&small, 0);
    WITH_SPACE(spaces[i], specverify_draft_law(&system, &its, NULL, spaces[i], &drafts[i].law));
    IS(specverify_draw(&drafts[i].law, draft_key, 10 + i, number, &drafts[i].token), ok);
    tokens[i + 1] = drafts[i].token;
    double bits = 0;
    IS(specverify_law_bits(&system, &drafts[i].law, &bits), ok);
    CHECK(bits > 20 && bits < 17 * V);
  }
  size_t size = 0;
  const specverify_status asked = specverify_encode(&round, &system, drafts, length, NULL, &size);
  IS(asked, output_too_small);
  specverify_space message = {malloc(asked.where), asked.where}, space;
  size = asked.where;
  IS(specverify_encode(&round, &system, drafts, length, message.data, &size), ok);
  CHECK(size == asked.where);
  size = asked.where - 1;
  const specverify_status short_of_one = specverify_encode(&round, &system, drafts, length, message.data, &size);
  CHECK(short_of_one.code == specverify_errc_output_too_small && short_of_one.where == asked.where);
  size = asked.where + 9;
  unsigned char* const roomy = malloc(size);
  IS(specverify_encode(&round, &system, drafts, length, roomy, &size), ok);
  CHECK(size == asked.where);
  IS(specverify_encode(&round, &system, drafts, length, message.data, &size), ok);
  CHECK(memcmp(roomy, message.data, size) == 0);
  free(roomy);
  size_t count = most;
  WITH_SPACE(space, specverify_decode(&round, &system, message, space, read, &count));
  CHECK(count == length);
  for (size_t i = 0; i < count; ++i) {
    const specverify_law *a = &drafts[i].law, *b = &read[i].law;
    CHECK(read[i].token == drafts[i].token && a->size == b->size && a->resolution == b->resolution);
    CHECK(memcmp(a->ids, b->ids, 4 * a->size) == 0 && memcmp(a->counts, b->counts, 4 * a->size) == 0);
  }
  CHECK(feed(&large, 9, tokens, length + 1, length + 1) == 0);
  specverify_row rows[most + 1];
  for (uint32_t i = 0; i <= length; ++i) rows[i] = row_of(&large, i);
  specverify_target target = specverify_target_defaults();
  target.key = verdict_key, target.rows = rows, target.row_count = length + 1;
  specverify_verdict verdict = {.struct_size = sizeof verdict};
  specverify_space scratch;
  WITH_SPACE(scratch, specverify_verify(&round, read, count, &target, scratch, &verdict));
  CHECK(verdict.accepted <= length && verdict.commit_length == verdict.accepted + 1 && verdict.next_token >= 0);
  for (uint32_t i = 0; i < length; ++i) free(spaces[i].data);
  free(message.data), free(space.data), free(scratch.data);
  return verdict.accepted;
}

static void check_errors(void) {
  const specverify_system k_sqs = system_of("k-sqs"), gated = system_of("u-hlm"), greedy = system_of("greedy");
  const int32_t ids[] = {3, 5}, falling[] = {5, 3};
  const uint32_t counts[] = {40, 60};
  specverify_law law = {ids, counts, 2, 0, 100, V}, other;
  specverify_key key = {{1, 2}};
  int32_t token = -1;
  double bits = 0;
  IS(specverify_draw(&law, key, 0, 0, &token), ok);
  CHECK(token == 3 || token == 5);
  law.resolution = 99;
  IS(specverify_draw(&law, key, 0, 0, &token), counts_do_not_sum);
  law.resolution = 100, law.ids = falling;
  IS(specverify_law_bits(&k_sqs, &law, &bits), ids_not_ascending);
  law.ids = NULL;
  IS(specverify_draw(&law, key, 0, 0, &token), null_span);
  law.ids = ids;
  IS(specverify_law_bits(&greedy, &law, &bits), unsupported);
  const specverify_space none = {NULL, 0};
  specverify_row its = row_of(&small, 0);
  IS(specverify_draft_law(&gated, &its, NULL, none, &other), unsupported);
  its.data = NULL;
  IS(specverify_draft_law(&k_sqs, &its, NULL, none, &other), null_span);
  specverify_round round = specverify_round_defaults();
  round.vocab_size = V;
  specverify_draft drafts[] = {{4, law}};  // a token that the law does not have
  size_t size = 0;
  specverify_status why = specverify_encode(&round, &k_sqs, drafts, 1, NULL, &size);
  IS(why, token_not_in_law);
  drafts[0].token = 3;
  IS(specverify_encode(&round, &k_sqs, drafts, 9, NULL, &size), draft_too_long);
  unsigned char bytes[256], space[1 << 16];
  size = sizeof bytes;
  IS(specverify_encode(&round, &k_sqs, drafts, 1, bytes, &size), ok);
  bytes[size - 1] ^= 1;
  const specverify_space message = {bytes, size}, room = {space, sizeof space};
  size_t count = 1;
  IS(specverify_decode(&round, &k_sqs, message, room, drafts, &count), checksum_mismatch);
  round.check_bits = 9;
  IS(specverify_decode(&round, &k_sqs, message, room, drafts, &count), invalid_argument);
  round.check_bits = 16;  // one byte more
  size_t longer = sizeof bytes;
  IS(specverify_encode(&round, &k_sqs, drafts, 1, bytes, &longer), ok);
  CHECK(longer == size + 1);
  round.check_bits = 8;
  drafts[0].law.ids = NULL;
  IS(specverify_encode(&round, &k_sqs, drafts, 1, bytes, &size), null_span);
  // More than 32 bits can say.
  const specverify_setting long_drafts = {"max_draft_length", 64};
  const specverify_system wide = specverify_system_with("hlm", &long_drafts, 1);
  round.vocab_size = 1u << 24;
  why = specverify_decode(&round, &wide, message, none, drafts, &count);
  CHECK(why.code == specverify_errc_output_too_small && why.where == UINT32_MAX);
  round.vocab_size = V;
  // Both a system and a round say the ABI.
  specverify_system old = k_sqs;
  old.abi = SPECVERIFY_ABI - 1;
  IS(specverify_law_bits(&old, &law, &bits), abi_mismatch);
  round.abi = 0;
  IS(specverify_encode(&round, &k_sqs, drafts, 1, bytes, &size), abi_mismatch);
  round.abi = SPECVERIFY_ABI;
  specverify_target target = specverify_target_defaults();
  const specverify_row rows[] = {row_of(&large, 0), row_of(&large, 1)};
  target.rows = rows, target.row_count = 1;
  specverify_verdict verdict = {.struct_size = sizeof verdict};
  IS(specverify_verify(&round, drafts, 1, &target, room, &verdict), too_few_rows);
}

int main(void) {
  small.noise = 2;
  uint32_t accepted = 0;
  const char* const systems[] = {"k-sqs", "qs", "hlm", "compressed-hlm"};
  for (int i = 0; i < 4; ++i)
    for (uint32_t number = 1; number <= 5; ++number) accepted += play(systems[i], number);
  CHECK(accepted > 10 && accepted < 50);
  check_errors();
  printf("%u drafts accepted, %d checks failed\n", accepted, failed_checks);
  return failed_checks != 0;
}
