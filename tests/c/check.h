// SPDX-License-Identifier: Apache-2.0
// What the programs here share: checks that name their line, the model of examples/c as an engine, an allocator
// that counts.
#ifndef CHECK_H
#define CHECK_H

#include <specverify_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/c/toy.h"

static int failed_checks = 0;
#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) {                                          \
      printf("%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      ++failed_checks;                                           \
    }                                                            \
  } while (0)
#define IS(status, name) CHECK((status).code == specverify_errc_##name)

enum { V = toy_vocab_size, floats_of_halves = 3, floats_of_bfloats = 4 };

typedef struct engine {
  float noise;
  int scalar;
  int32_t fails;  // what feed gives
  uint32_t rows_asked, extras_asked;
  uint32_t rows;
  float values[12][V];
  uint16_t halves[12][V];
  float hidden[12][8];
  float attention[4096];
  uint32_t length;
} engine;

static inline int32_t feed(void* self, uint32_t position, const int32_t* tokens, size_t count, uint32_t rows) {
  engine* const me = (engine*)self;
  if (me->fails != 0 || rows > 12) return me->fails != 0 ? me->fails : specverify_errc_engine_failed;
  me->length = position + (uint32_t)count;
  for (uint32_t i = 0; i < rows; ++i) {
    for (uint32_t v = 0; v < V; ++v) {
      me->values[i][v] = toy_logit(tokens[count - rows + i], v, me->noise);
      // Numbers that both kinds of row hold.
      if (me->scalar == SPECVERIFY_FLOAT16 || me->scalar == floats_of_halves) {
        const uint32_t steps = (uint32_t)(me->values[i][v] * 64);  // of 1/64, below 2^11
        uint32_t high = 0;
        while (steps >> (high + 1) != 0) ++high;
        me->halves[i][v] = (uint16_t)(steps == 0 ? 0 : ((high + 9) << 10) | ((steps << (10 - high)) & 1023u));
        me->values[i][v] = (float)steps / 64;
      }
      if (me->scalar == SPECVERIFY_BFLOAT16 || me->scalar == floats_of_bfloats) {
        uint32_t bits;
        memcpy(&bits, &me->values[i][v], 4);
        me->halves[i][v] = (uint16_t)(bits >> 16);
        bits &= 0xffff0000u;
        memcpy(&me->values[i][v], &bits, 4);
      }
    }
    for (int d = 0; d < 8; ++d) me->hidden[i][d] = (float)d;
  }
  return 0;
}
static inline int32_t row(void* self, uint32_t index, specverify_row* given) {
  engine* const me = (engine*)self;
  ++me->rows_asked;
  *given = specverify_logits(me->values[index], V);
  if (me->scalar == SPECVERIFY_FLOAT16 || me->scalar == SPECVERIFY_BFLOAT16) {
    given->data = me->halves[index];
    given->scalar = (uint8_t)me->scalar;
  }
  return 0;
}
static inline specverify_row row_of(engine* self, uint32_t index) {
  specverify_row made;
  CHECK(row(self, index, &made) == 0);
  return made;
}
static inline int32_t truncate_to(void* self, uint32_t position) { return (void)self, (void)position, 0; }
static inline int32_t extras(void* self, uint32_t index, specverify_extras* given) {
  engine* const me = (engine*)self;
  ++me->extras_asked;
  given->hidden = me->hidden[index], given->hidden_count = 8;
  for (uint32_t i = 0; i < me->length; ++i) me->attention[i] = i % 2 == 0 ? 2.0f / (float)(me->length + 1) : 0;
  given->attention = me->attention, given->attention_count = me->length;
  return 0;
}
static inline int32_t scores(void* self, const specverify_output* asked, double* out) {
  (void)self;
  for (uint32_t i = 0; i < asked->rows; ++i) out[i] = 0.9;
  return 0;
}
static inline specverify_model model_of(engine* self) {
  specverify_model made = specverify_model_of(self, feed, row, truncate_to);
  made.extras = extras;
  made.scores = scores;
  return made;
}

// Memory that is counted; the `fails_at`-th request gets none.
typedef struct counted {
  size_t bytes, live, calls, fails_at;
} counted;
static inline void* counted_allocate(void* self, size_t size, size_t alignment) {
  counted* const me = (counted*)self;
  if (++me->calls == me->fails_at) return NULL;
  CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0);
  me->bytes += size;
  me->live += size;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return aligned_alloc(least, (size + least - 1) / least * least);
}
static inline void counted_deallocate(void* self, void* memory, size_t size, size_t alignment) {
  (void)alignment;
  ((counted*)self)->live -= size;
  free(memory);
}
static inline specverify_allocator allocator_of(counted* self) {
  const specverify_allocator made = {sizeof made, self, counted_allocate, counted_deallocate};
  return made;
}

static inline specverify_edge_options device_options(void) {
  specverify_edge_options made = specverify_edge_defaults();
  made.vocab_size = V;
  made.token_budget = 40;
  specverify_secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3", made.secret);
  return made;
}
static inline specverify_cloud_options service_options(void) {
  specverify_cloud_options made = specverify_cloud_defaults();
  made.vocab_size = V;
  made.salt = 0x5eed;
  specverify_secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9", made.secret);
  return made;
}
// With the settings that have no default.
static inline specverify_system system_of(const char* name) {
  static const specverify_setting cap = {"support_size", 64}, states = {"hidden_size", 8};
  if (strcmp(name, "c-sqs") == 0) return specverify_system_with(name, &cap, 1);
  if (strcmp(name, "wisv") == 0) return specverify_system_with(name, &states, 1);
  return specverify_system_named(name);
}

#endif
