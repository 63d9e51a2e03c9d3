// SPDX-License-Identifier: Apache-2.0
// A host in C11: every system by name, memory from hooks, structs of older and newer programs, errors, a restart.
#include "../../examples/c/ending.h"
#include "check.h"

static const char* const systems[] = {
    "target",   "qs",    "qs-adaptive", "k-sqs",  "c-sqs",         "hlm",    "sd-reject",    "compressed-hlm",
    "rand-hlm", "u-hlm", "ui",          "cu-hlm", "cu-hlm-online", "greedy", "shared-noise", "wisv"};
enum { system_count = sizeof systems / sizeof *systems };
static engine small, large;

static size_t finish(specverify_edge* edge, specverify_cloud* cloud, size_t count) {
  IS(specverify_edge_refusal(edge), ok);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
  return count;
}

// Writes one text; a copy of it comes back, with its number of tokens.
static size_t run(const char* name, int scalar, counted* memory, int32_t text[64]) {
  const specverify_system system = system_of(name);
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  const specverify_allocator hooks = allocator_of(memory);
  small.noise = 2, small.scalar = large.scalar = scalar;
  small.rows_asked = small.extras_asked = large.extras_asked = 0;
  const specverify_model drafter = model_of(&small), target = model_of(&large);
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  const int32_t prompt[] = {1};
  IS(specverify_edge_create(&device, &system, &hooks, &edge), ok);
  IS(specverify_cloud_create(&service, &system, &hooks, &cloud), ok);
  const size_t made = memory->calls;
  IS(specverify_edge_start(edge, prompt, 1, 0), ok);
  const specverify_status why = specverify_run_pair(edge, &drafter, cloud, &target, NULL);
  IS(why, ok);
  if (why.code != 0) printf("%s: %u at %u\n", name, why.code, (unsigned)why.where);
  CHECK(memory->calls == made);
  size_t count = 0, prompt_length = 0, cloud_count = 0;
  const int32_t* const written = specverify_edge_text(edge, &count, &prompt_length);
  const int32_t* const verified = specverify_cloud_text(cloud, &cloud_count, NULL);
  CHECK(count == 41 && prompt_length == 1 && cloud_count == count && memcmp(written, verified, 4 * count) == 0);
  memcpy(text, written, count < 64 ? 4 * count : 256);
  specverify_statistics seen = {.struct_size = sizeof seen};
  IS(specverify_edge_statistics(edge, &seen), ok);
  CHECK(seen.emitted == 40 && seen.bytes_up > 0 && seen.rounds > 0);
  CHECK(specverify_cloud_session_id(cloud) == 1 && specverify_cloud_state(cloud) == SPECVERIFY_CLOUD_FINISHED);
  CHECK(large.extras_asked == 0);
  if (strcmp(name, "target") == 0) return finish(edge, cloud, count);  // nothing is drafted
  CHECK(small.extras_asked == small.rows_asked && small.rows_asked > 0);
  specverify_edge_round drafted = {.struct_size = sizeof drafted};
  specverify_cloud_round decided = {.struct_size = sizeof decided};
  IS(specverify_edge_last_round(edge, &drafted), ok);
  IS(specverify_cloud_last_round(cloud, &decided), ok);
  CHECK(drafted.round > 0 && drafted.round <= seen.rounds && drafted.round == decided.round);
  CHECK(drafted.drafted == decided.drafted && drafted.accepted == decided.accepted);
  CHECK(drafted.draft_bytes >= 2 && drafted.feedback_bytes >= 2 && drafted.draft_bytes < seen.draft_bytes);
  CHECK(finish(edge, cloud, count) == count && memory->live == 0);
  return count;
}

static void check_systems(void) {
  for (int i = 0; i < system_count; ++i) {
    counted memory = {0, 0, 0, 0};
    int32_t text[64];
    CHECK(run(systems[i], SPECVERIFY_FLOAT, &memory, text) == 41);
    CHECK(memory.calls > 20 && memory.bytes > 4096);
  }
  counted memory = {0, 0, 0, 0};
  const int pairs[2][2] = {{SPECVERIFY_FLOAT16, floats_of_halves}, {SPECVERIFY_BFLOAT16, floats_of_bfloats}};
  int32_t text[3][64];
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 2; ++k) CHECK(run("k-sqs", pairs[i][k], &memory, text[k]) == 41);
    CHECK(run("k-sqs", SPECVERIFY_FLOAT, &memory, text[2]) == 41);
    CHECK(memcmp(text[0], text[1], 164) == 0 && memcmp(text[0], text[2], 164) != 0);
  }
}

// A target that samples by itself: the largest logit.
static int32_t wrong_token = -1;
static int32_t token(void* self, uint32_t index, int32_t* given) {
  const float* const values = ((engine*)self)->values[index];
  *given = 0;
  for (int32_t v = 1; v < V; ++v)
    if (values[v] > values[*given]) *given = v;
  if (wrong_token != -1) *given = wrong_token;
  return 0;
}
static int32_t refused_token(void* self, uint32_t index, int32_t* given) {
  return (void)self, (void)index, (void)given, 1234;
}

// Writes one text with tokens in place of the target's rows: by run_pair, or by supply_tokens.
static specverify_status sample(const char* name, specverify_give_token* gives, int32_t text[64]) {
  const specverify_system system = system_of(name);
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  small.noise = 2, small.scalar = large.scalar = SPECVERIFY_FLOAT;
  const specverify_model drafter = model_of(&small);
  specverify_model target = specverify_model_of(&large, feed, NULL, truncate_to);
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
  IS(specverify_edge_start(edge, (const int32_t[]){1}, 1, 0), ok);
  const specverify_status missing = specverify_cloud_drive(cloud, &target, NULL, 0);
  CHECK(missing.code == specverify_errc_null_span && missing.where == offsetof(specverify_model, row));
  target.token = gives;
  IS(specverify_cloud_drive(cloud, &target, NULL, 0), ok);
  IS(specverify_edge_drive(edge, &target, NULL, 0), null_span);  // a drafter gives rows
  CHECK(specverify_cloud_noise_key(cloud) == 0 && specverify_cloud_noise_kind(cloud) == 0);
  const specverify_status why = specverify_run_pair(edge, &drafter, cloud, &target, NULL);
  const int shares = strcmp(name, "shared-noise") == 0;
  CHECK((specverify_cloud_noise_key(cloud) != 0) == shares);
  CHECK(specverify_cloud_noise_kind(cloud) == (shares ? 1u : 0u));  // 1: the kind that the edge requests
  size_t count = 0;
  const int32_t* const written = specverify_edge_text(edge, &count, NULL);
  CHECK(why.code != 0 || count == 41);
  if (count == 41) memcpy(text, written, 4 * count);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
  return why;
}

static void check_tokens(void) {
  counted memory = {0, 0, 0, 0};
  int32_t text[2][64];
  CHECK(run("greedy", SPECVERIFY_FLOAT, &memory, text[0]) == 41);
  IS(sample("greedy", token, text[1]), ok);
  CHECK(memcmp(text[0], text[1], 164) == 0);
  IS(sample("shared-noise", token, text[1]), ok);  // the text of the target's samples, whatever the device drew
  CHECK(memcmp(text[0], text[1], 164) == 0);
  IS(sample("k-sqs", token, text[1]), rows_required);
  CHECK(sample("greedy", refused_token, text[1]).code == 1234);
  wrong_token = V;
  IS(sample("greedy", token, text[1]), token_out_of_range);
  wrong_token = -1;
}

// Each kind of noise writes another text, and its own is equal in every run.
static void check_noise(void) {
  const specverify_system system = system_of("shared-noise");
  int32_t text[6][64];
  small.noise = 2, small.scalar = large.scalar = SPECVERIFY_FLOAT;
  for (uint32_t kind = 0; kind < 6; ++kind) {
    const specverify_edge_options device = device_options();
    specverify_cloud_options service = service_options();
    service.noise = kind;
    const specverify_model drafter = model_of(&small), target = model_of(&large);
    specverify_edge* edge = NULL;
    specverify_cloud* cloud = NULL;
    IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
    const specverify_status made = specverify_cloud_create(&service, &system, NULL, &cloud);
    if (kind == 5) {
      CHECK(made.code == specverify_errc_invalid_argument && made.where == offsetof(specverify_cloud_options, noise));
    } else {
      IS(made, ok);
      IS(specverify_edge_start(edge, (const int32_t[]){1}, 1, 0), ok);
      IS(specverify_run_pair(edge, &drafter, cloud, &target, NULL), ok);
      size_t count = 0;
      memcpy(text[kind], specverify_edge_text(edge, &count, NULL), 164);
      CHECK(count == 41);
      for (uint32_t before = 0; before < kind; ++before)
        CHECK((memcmp(text[before], text[kind], 164) == 0) == (before == 0 && kind == 1));
    }
    specverify_edge_destroy(edge);
    specverify_cloud_destroy(cloud);
  }
}

// The bytes of a table without lists: its weights are those of `seed`.
enum { table_bytes = 80 + V };
static void write_table(unsigned seed, uint8_t table[table_bytes]) {
  memset(table, 0, table_bytes);
  memcpy(table, "SVPR", 4);
  table[4] = 1;
  table[8] = V & 255, table[9] = V >> 8;
  for (unsigned i = 0; i < V; ++i) table[80 + i] = (uint8_t)(i * seed % 61);
}

// Writes one text; the device and the cloud have these tables, and the device asks for this code of ids. Returns the
// bytes of the drafts.
static uint64_t run_coded(const specverify_prior* device_has, const specverify_prior* cloud_has, uint32_t ids,
                          int32_t text[64]) {
  const specverify_system system = system_of("shared-noise");
  specverify_edge_options device = device_options();
  specverify_cloud_options service = service_options();
  device.prior = device_has;
  device.ids = ids;
  service.priors = &cloud_has;
  service.prior_count = cloud_has != NULL;
  small.noise = 2, small.scalar = large.scalar = SPECVERIFY_FLOAT;
  const specverify_model drafter = model_of(&small), target = model_of(&large);
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
  IS(specverify_edge_start(edge, (const int32_t[]){1}, 1, 0), ok);
  CHECK(specverify_edge_agreed_id_code(edge) == SPECVERIFY_ID_CODE_PLAIN);
  IS(specverify_run_pair(edge, &drafter, cloud, &target, NULL), ok);
  const int both = device_has != NULL && device_has == cloud_has;
  CHECK(specverify_edge_agreed_id_code(edge) == (both ? ids : SPECVERIFY_ID_CODE_PLAIN));
  CHECK(specverify_cloud_agreed_id_code(cloud) == specverify_edge_agreed_id_code(edge));
  size_t count = 0;
  const int32_t* const written = specverify_edge_text(edge, &count, NULL);
  CHECK(count == 41);
  memcpy(text, written, count < 64 ? 4 * count : 256);
  specverify_statistics seen = {.struct_size = sizeof seen};
  IS(specverify_edge_statistics(edge, &seen), ok);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
  return seen.draft_bytes;
}

static void check_prior(void) {
  uint8_t bytes[table_bytes];
  counted memory = {0, 0, 0, 0};
  const specverify_allocator hooks = allocator_of(&memory);
  specverify_prior *one = NULL, *other = NULL, *none = (specverify_prior*)&memory;
  write_table(7, bytes);
  IS(specverify_prior_create(bytes, sizeof bytes, V, &hooks, &one), ok);
  CHECK(memory.live > 0);
  IS(specverify_prior_create(bytes, sizeof bytes, V + 1, &hooks, &none), prior_vocabulary);
  CHECK(none == NULL);
  IS(specverify_prior_create(bytes, sizeof bytes - 1, V, NULL, &none), truncated);
  IS(specverify_prior_create(NULL, 0, V, NULL, &none), null_span);
  IS(specverify_prior_create(bytes, sizeof bytes, V, NULL, NULL), null_span);
  write_table(11, bytes);
  IS(specverify_prior_create(bytes, sizeof bytes, V, NULL, &other), ok);
  bytes[0] = 'X';
  IS(specverify_prior_create(bytes, sizeof bytes, V, NULL, &none), prior_header);
  int32_t text[2][64];
  const uint32_t by_table = SPECVERIFY_ID_CODE_PRIOR, by_noise = SPECVERIFY_ID_CODE_NOISE;
  CHECK(device_options().ids == by_table);
  const uint64_t plain = run_coded(NULL, NULL, by_table, text[0]), coded = run_coded(one, one, by_table, text[1]);
  CHECK(coded != plain);
  CHECK(memcmp(text[0], text[1], 164) == 0);
  CHECK(run_coded(one, one, by_noise, text[1]) < coded);
  CHECK(memcmp(text[0], text[1], 164) == 0);
  CHECK(run_coded(one, other, by_table, text[1]) == plain && run_coded(one, NULL, by_table, text[1]) == plain);
  CHECK(memcmp(text[0], text[1], 164) == 0);
  // Options that no session can have.
  specverify_edge_options device = device_options();
  device.prior = one;
  specverify_edge* edge = NULL;
  const specverify_system laws = system_of("k-sqs");
  IS(specverify_edge_create(&device, &laws, NULL, &edge), invalid_argument);
  const specverify_system races = system_of("shared-noise");
  device.ids = 3;
  const specverify_status unknown = specverify_edge_create(&device, &races, NULL, &edge);
  CHECK(unknown.code == specverify_errc_invalid_argument && unknown.where == offsetof(specverify_edge_options, ids));
  device.ids = by_noise;
  device.prior = NULL;
  IS(specverify_edge_create(&device, &races, NULL, &edge), invalid_argument);
  specverify_cloud_options service = service_options();
  specverify_cloud* cloud = NULL;
  const specverify_prior* all[17] = {one, other, NULL};
  service.priors = all;
  service.prior_count = 17;
  const specverify_status many = specverify_cloud_create(&service, NULL, NULL, &cloud);
  CHECK(many.code == specverify_errc_invalid_argument && many.where == offsetof(specverify_cloud_options, prior_count));
  service.prior_count = 3;
  IS(specverify_cloud_create(&service, NULL, NULL, &cloud), invalid_argument);
  service.priors = NULL;
  IS(specverify_cloud_create(&service, NULL, NULL, &cloud), null_span);
  specverify_prior_destroy(one);
  specverify_prior_destroy(other);
  specverify_prior_destroy(NULL);
  CHECK(memory.live == 0);
}

// Each request for memory fails once.
static void check_memory(const char* name) {
  const specverify_system system = system_of(name);
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  size_t refused = 0;
  for (size_t at = 1; at < 60; ++at) {
    counted memory = {0, 0, 0, at};
    const specverify_allocator hooks = allocator_of(&memory);
    specverify_edge* edge = (specverify_edge*)&memory;
    const specverify_status why = specverify_edge_create(&device, &system, &hooks, &edge);
    if (why.code == 0) {
      specverify_edge_destroy(edge);
    } else {
      IS(why, out_of_memory);
      CHECK(edge == NULL);
      ++refused;
    }
    CHECK(memory.live == 0);
    counted other = {0, 0, 0, at};
    const specverify_allocator its = allocator_of(&other);
    specverify_cloud* cloud = NULL;
    if (specverify_cloud_create(&service, &system, &its, &cloud).code == 0) specverify_cloud_destroy(cloud);
    CHECK(other.live == 0);
  }
  CHECK(refused > (strcmp(name, "target") == 0 ? 10 : 15) && refused < 59);  // without drafts it takes less memory
}

// A struct as an older program has it, and as a newer one has it.
static void check_struct_sizes(void) {
  specverify_edge* edge = NULL;
  specverify_system system = system_of("k-sqs");
  specverify_edge_options device = device_options();
  device.struct_size = offsetof(specverify_edge_options, retry_timeout);
  device.journal_drafts = 77;  // behind the end
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  specverify_edge_destroy(edge);
  struct {
    specverify_edge_options known;
    uint64_t unknown[2];
  } newer = {device_options(), {0, 0}};
  newer.known.struct_size = sizeof newer;
  IS(specverify_edge_create(&newer.known, &system, NULL, &edge), ok);
  specverify_edge_destroy(edge);
  newer.unknown[1] = 1;
  const specverify_status why = specverify_edge_create(&newer.known, &system, NULL, &edge);
  IS(why, unknown_option);
  CHECK(why.where == sizeof newer.known + 8 && edge == NULL);
  device = device_options();
  device.struct_size = 0;
  IS(specverify_edge_create(&device, &system, NULL, &edge), struct_size_wrong);
  device.struct_size = SIZE_MAX / 8 * 8;  // nobody set it: no byte behind the struct is read
  IS(specverify_edge_create(&device, &system, NULL, &edge), struct_size_wrong);
  device.struct_size = offsetof(specverify_edge_options, stop_count) + 4;  // inside a member
  const specverify_status cut = specverify_edge_create(&device, &system, NULL, &edge);
  IS(cut, struct_size_wrong);
  system.struct_size = offsetof(specverify_system, settings);
  system.settings = (const specverify_setting*)1;  // behind the end
  device = device_options();
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  // What is written ends where the caller's struct ends.
  unsigned char room[sizeof(specverify_statistics)];
  memset(room, 0xaa, sizeof room);
  const size_t size = offsetof(specverify_statistics, drafted);
  memcpy(room, &size, sizeof size);
  IS(specverify_edge_statistics(edge, (specverify_statistics*)(void*)room), ok);
  CHECK(memcmp(room, &size, sizeof size) == 0 && room[size - 1] == 0 && room[size] == 0xaa);
  specverify_edge_destroy(edge);
}

// A program of another ABI, and one that says none, are refused by name at their first call.
static void check_abi(void) {
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  const specverify_system system = system_of("k-sqs");
  specverify_edge_options device = device_options();
  specverify_cloud_options service = service_options();
  CHECK(specverify_abi() == SPECVERIFY_ABI && device.abi == SPECVERIFY_ABI);
  for (uint32_t other = 0; other < 2; ++other) {
    device.abi = service.abi = other == 0 ? 0 : SPECVERIFY_ABI + 1;
    const specverify_status why = specverify_edge_create(&device, &system, NULL, &edge);
    CHECK(why.code == specverify_errc_abi_mismatch && why.where == SPECVERIFY_ABI && edge == NULL);
    IS(specverify_cloud_create(&service, &system, NULL, &cloud), abi_mismatch);
    specverify_system its = system;
    its.abi = device.abi;
    device = device_options();
    IS(specverify_edge_create(&device, &its, NULL, &edge), abi_mismatch);
    device.struct_size = sizeof device.struct_size;  // no room for a number
    IS(specverify_edge_create(&device, &system, NULL, &edge), abi_mismatch);
  }
  // A program of another ABI that does not look at what `init` says gets a struct that nothing takes.
  IS(specverify_edge_options_init(&device, sizeof device, SPECVERIFY_ABI + 1), abi_mismatch);
  CHECK(device.abi == SPECVERIFY_ABI + 1 && device.session_id == 0 && device.struct_size == sizeof device);
  IS(specverify_edge_create(&device, &system, NULL, &edge), abi_mismatch);
  // Nothing behind a shorter struct is written; the end of a longer one is zeros.
  uint64_t room[sizeof(specverify_cloud_options) / 8 + 2];
  const size_t size = offsetof(specverify_cloud_options, trial_cap) / 8 * 8;
  memset(room, 0xaa, sizeof room);
  IS(specverify_cloud_options_init((specverify_cloud_options*)room, size, SPECVERIFY_ABI), ok);
  CHECK(room[0] == size && room[size / 8] == 0xaaaaaaaaaaaaaaaau);
  IS(specverify_cloud_options_init((specverify_cloud_options*)room, sizeof room, SPECVERIFY_ABI), ok);
  service = specverify_cloud_defaults();
  CHECK(room[0] == sizeof room && memcmp(room + 1, (const uint64_t*)&service + 1, sizeof service - 8) == 0);
  CHECK(room[sizeof room / 8 - 1] == 0 && room[sizeof room / 8 - 2] == 0);
  IS(specverify_edge_options_init(&device, sizeof device - 1, SPECVERIFY_ABI), struct_size_wrong);
  IS(specverify_edge_options_init(NULL, sizeof device, SPECVERIFY_ABI), null_span);
}

static void check_names(void) {
  for (int i = 0; i < system_count; ++i) {
    const char* const name = specverify_system_name((uint32_t)i);
    CHECK(name != NULL && strcmp(name, systems[i]) == 0);
  }
  CHECK(specverify_system_name((uint32_t)system_count) == NULL && specverify_system_name(UINT32_MAX) == NULL);
  CHECK(strcmp(specverify_errc_name(specverify_errc_abi_mismatch), "abi_mismatch") == 0);
  CHECK(strcmp(specverify_errc_name(0), "ok") == 0);
  CHECK(specverify_errc_name(88) == NULL && specverify_errc_name(0x10000) == NULL);
}

static void check_fingerprint(void) {
  specverify_fingerprint tokens = {{0}};
  uint64_t none[2] = {0, 0}, one[2] = {0, 0};
  IS(specverify_fingerprint_finish(&tokens, &none[0], &none[1]), ok);
  CHECK(none[0] != 0 && none[1] != 0);
  IS(specverify_fingerprint_add(&tokens, 3, " the", 4, SPECVERIFY_TOKEN_TEXT), ok);
  IS(specverify_fingerprint_add(&tokens, 3, "a", 1, SPECVERIFY_TOKEN_TEXT), ids_not_ascending);
  IS(specverify_fingerprint_add(&tokens, -1, "a", 1, SPECVERIFY_TOKEN_TEXT), token_out_of_range);
  IS(specverify_fingerprint_add(&tokens, 4, NULL, 1, SPECVERIFY_TOKEN_TEXT), null_span);
  const specverify_status wrong = specverify_fingerprint_add(&tokens, 4, "a", 1, 3);
  CHECK(wrong.code == specverify_errc_invalid_argument && wrong.where == 3);
  IS(specverify_fingerprint_finish(&tokens, &one[0], &one[1]), ok);
  CHECK(memcmp(one, none, sizeof one) != 0);
  IS(specverify_fingerprint_add(&tokens, 4, NULL, 0, SPECVERIFY_TOKEN_SPECIAL), ok);
  IS(specverify_fingerprint_finish(NULL, &one[0], &one[1]), null_span);
}

// The blocks of docs/c.md, with a vocabulary for them.
static void check_page(void) {
  const int32_t vocab_size = V;
  specverify_edge_options device = device_options();
#define piece(id) ((id) == 0 ? "<s>" : " the")
#define size(id) strlen(piece(id))
#define kind(id) ((id) == 0 ? (uint32_t)SPECVERIFY_TOKEN_SPECIAL : (uint32_t)SPECVERIFY_TOKEN_TEXT)
#include "c/fingerprint.inc"
#undef piece
#undef size
#undef kind
  CHECK(device.fingerprint_high != 0 && device.fingerprint_low != 0);
#include "c/settings.inc"
  specverify_cloud_options service = service_options();
  specverify_cloud* cloud = NULL;
  IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
  specverify_cloud_destroy(cloud);
  uint8_t bytes[table_bytes];
  const size_t size = sizeof bytes;
  write_table(7, bytes);
#include "c/prior.inc"
  IS(why, ok);
  const specverify_system ids = specverify_system_named("shared-noise");
  specverify_edge* edge = NULL;
  IS(specverify_edge_create(&device, &ids, NULL, &edge), ok);
  IS(specverify_cloud_create(&service, &ids, NULL, &cloud), ok);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
  specverify_prior_destroy(table);
}

static int32_t no_row(void* self, uint32_t index, specverify_row* given) {
  *given = specverify_logits(NULL, toy_vocab_size);
  return (void)self, (void)index, 0;
}
static int32_t late_row(void* self, uint32_t index, specverify_row* given) {
  return index == 0 ? row(self, index, given) : 1234;
}
static int32_t refused_row(void* self, uint32_t index, specverify_row* given) {
  return (void)self, (void)index, (void)given, 1234;
}
static int32_t refused_transform(void* self, uint32_t index, specverify_transform* changed) {
  return (void)self, (void)index, (void)changed, 1234;
}
static int32_t refused_extras(void* self, uint32_t index, specverify_extras* given) {
  return (void)self, (void)index, (void)given, 1234;
}

// Whichever callback fails, its session ends, and the call says what the callback said.
static void check_callbacks(void) {
  const specverify_system system = system_of("k-sqs");
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  const int32_t prompt[] = {1};
  for (int which = 0; which < 10; ++which) {
    specverify_model drafter = model_of(&small), target = model_of(&large);
    const int side = which == 3 || which > 6;
    specverify_model* const failing = side == 0 ? &drafter : &target;
    engine* const its = side == 0 ? &small : &large;
    int32_t said = 1234;
    if (which == 0 || which == 7) failing->row = refused_row;
    if (which == 1 || which == 8) failing->transform = refused_transform;
    if (which == 2) failing->extras = refused_extras;
    if (which == 3) failing->row = late_row;
    if (which == 4) its->fails = said = specverify_errc_context_full;
    if (which == 5) its->fails = said = -1;
    if (which == 6) its->fails = said = 70000;
    if (which == 9) its->fails = said = 65535;
    specverify_edge* edge = NULL;
    specverify_cloud* cloud = NULL;
    IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
    IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
    IS(specverify_edge_start(edge, prompt, 1, 0), ok);
    const specverify_status why = specverify_run_pair(edge, &drafter, cloud, &target, NULL);
    const int is_code = said > 0 && said < 65536;
    CHECK(why.part == 13 && why.code == (is_code ? said : specverify_errc_engine_failed));
    CHECK(why.where == (is_code ? 0 : (uint32_t)said));
    if (side == 0) CHECK(specverify_edge_state(edge) == SPECVERIFY_EDGE_FAILED);
    if (side == 1) CHECK(specverify_cloud_state(cloud) == SPECVERIFY_CLOUD_FAILED);
    its->fails = 0;
    specverify_edge_destroy(edge);
    specverify_cloud_destroy(cloud);
  }
}

// Messages on their way: a session takes one at a time, and the next after its outputs.
typedef struct {
  uint8_t bytes[8][256];
  size_t sizes[8];
  size_t sent, taken;
} message_queue;
static int32_t put(void* self, const specverify_output* out) {
  message_queue* const queue = self;
  if (out->action != SPECVERIFY_SEND) return 0;
  CHECK(queue->sent < queue->taken + 8 && out->bytes_size <= 256);
  const size_t slot = queue->sent++ % 8;
  memcpy(queue->bytes[slot], out->bytes, out->bytes_size);
  queue->sizes[slot] = out->bytes_size;
  return 0;
}

// A device hears that the cloud's engine failed, not what the session made of the row that was not there.
static void check_failed_rows(void) {
  const specverify_system system = system_of("k-sqs");
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  for (int which = 0; which < 3; ++which) {
    const specverify_model drafter = model_of(&small);
    specverify_model target = model_of(&large);
    if (which == 0) target.row = refused_row;
    if (which == 1) target.row = late_row;
    if (which == 2) target.transform = refused_transform;
    specverify_edge* edge = NULL;
    specverify_cloud* cloud = NULL;
    IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
    IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
    IS(specverify_edge_start(edge, (const int32_t[]){1}, 1, 0), ok);
    message_queue to_cloud = {.sent = 0}, to_edge = {.sent = 0};
    const specverify_observer up = specverify_observer_of(&to_cloud, put), down = specverify_observer_of(&to_edge, put);
    specverify_status why = {0, 0, 0};
    IS(specverify_edge_drive(edge, &drafter, &up, 0), ok);
    while (to_cloud.taken < to_cloud.sent) {
      const size_t next = to_cloud.taken++ % 8;
      IS(specverify_cloud_receive(cloud, to_cloud.bytes[next], to_cloud.sizes[next], 0), ok);
      why = specverify_cloud_drive(cloud, &target, &down, 0);
      if (to_edge.taken == to_edge.sent) continue;
      const size_t answer = to_edge.taken++ % 8;
      (void)specverify_edge_receive(edge, to_edge.bytes[answer], to_edge.sizes[answer], 0);
      if (why.code == 0) IS(specverify_edge_drive(edge, &drafter, &up, 0), ok);
    }
    CHECK(why.code == 1234 && specverify_edge_state(edge) == SPECVERIFY_EDGE_FAILED);
    const specverify_status heard = specverify_edge_refusal(edge);
    CHECK(heard.code == specverify_errc_engine_failed && heard.part == 13 && heard.where == 0);
    specverify_edge_destroy(edge);
    specverify_cloud_destroy(cloud);
  }
}

// Level 1: what cannot be used is refused, and the session waits as before.
static void check_supplied_tokens(void) {
  const specverify_system system = system_of("greedy");
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  const specverify_model drafter = model_of(&small);
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
  IS(specverify_edge_start(edge, (const int32_t[]){1}, 1, 0), ok);
  int32_t tokens[13] = {0};
  IS(specverify_cloud_supply_tokens(NULL, tokens, 1, 0), null_span);
  IS(specverify_cloud_supply_tokens(cloud, tokens, 1, 0), unexpected_message);
  message_queue to_cloud = {.sent = 0}, to_edge = {.sent = 0};
  const specverify_observer up = specverify_observer_of(&to_cloud, put);
  IS(specverify_edge_drive(edge, &drafter, &up, 0), ok);
  int evaluated = 0;
  while (to_cloud.taken < to_cloud.sent) {
    const size_t next = to_cloud.taken++ % 8;
    IS(specverify_cloud_receive(cloud, to_cloud.bytes[next], to_cloud.sizes[next], 0), ok);
    for (;;) {
      specverify_output out = {.struct_size = sizeof out};
      IS(specverify_cloud_next(cloud, &out), ok);
      if (out.action == SPECVERIFY_NONE) break;
      CHECK(put(&to_edge, &out) == 0);
      if (out.action != SPECVERIFY_EVALUATE) continue;
      ++evaluated;
      CHECK(feed(&large, out.position, out.tokens, out.token_count, out.rows) == 0);
      for (uint32_t i = 0; i < out.rows; ++i) CHECK(token(&large, i, tokens + i) == 0);
      IS(specverify_cloud_supply_tokens(cloud, NULL, out.rows, 0), null_span);
      IS(specverify_cloud_supply_tokens(cloud, tokens, out.rows + 1, 0), size_mismatch);
      tokens[out.rows] = tokens[out.rows - 1], tokens[out.rows - 1] = V;
      IS(specverify_cloud_supply_tokens(cloud, tokens, out.rows, 0), token_out_of_range);
      tokens[out.rows - 1] = tokens[out.rows];
      CHECK(specverify_cloud_wants_rows(cloud));
      IS(specverify_cloud_supply_tokens(cloud, tokens, out.rows, 0), ok);
    }
    while (to_edge.taken < to_edge.sent) {
      const size_t answer = to_edge.taken++ % 8;
      IS(specverify_edge_receive(edge, to_edge.bytes[answer], to_edge.sizes[answer], 0), ok);
      IS(specverify_edge_drive(edge, &drafter, &up, 0), ok);
    }
  }
  size_t count = 0;
  counted memory = {0, 0, 0, 0};
  int32_t text[64];
  CHECK(run("greedy", SPECVERIFY_FLOAT, &memory, text) == 41 && evaluated > 5);
  const int32_t* const written = specverify_edge_text(edge, &count, NULL);
  CHECK(count == 41 && memcmp(text, written, 164) == 0);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
}

static void check_refusals(void) {
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  specverify_edge_options device = device_options();
  const specverify_setting set[] = {{"resolution", 60}, {"support_size", 3}, {NULL, 1}};
  specverify_system system = specverify_system_with("qs", set, 2);
  specverify_status why = specverify_edge_create(&device, &system, NULL, &edge);
  IS(why, unknown_setting);
  CHECK(why.where == 1);
  system.settings = set + 2, system.setting_count = 1;
  IS(specverify_edge_create(&device, &system, NULL, &edge), unknown_setting);
  system.settings = NULL;
  why = specverify_edge_create(&device, &system, NULL, &edge);
  CHECK(why.code == specverify_errc_null_span && why.where == offsetof(specverify_system, settings));
  system.settings = set, system.setting_count = 17;
  IS(specverify_edge_create(&device, &system, NULL, &edge), unknown_setting);
  const specverify_setting fine = {"resolution", 1e6};
  system = specverify_system_with("qs", &fine, 1);
  IS(specverify_cloud_create(&(specverify_cloud_options){0}, &system, NULL, &cloud), struct_size_wrong);
  IS(specverify_edge_create(&device, &system, NULL, &edge), setting_out_of_range);
  system = specverify_system_named("c-sqs");
  IS(specverify_edge_create(&device, &system, NULL, &edge), setting_missing);
  system = specverify_system_named("qs-dqn");
  IS(specverify_edge_create(&device, &system, NULL, &edge), network_missing);
  system = specverify_system_named(NULL);
  why = specverify_edge_create(&device, &system, NULL, &edge);
  CHECK(why.code == specverify_errc_null_span && why.where == offsetof(specverify_system, name));
  system = specverify_system_named("nothing");
  why = specverify_edge_create(&device, &system, NULL, &edge);
  IS(why, unknown_system);
  char names[256];
  IS(specverify_message(why, names, sizeof names), ok);
  CHECK(strstr(names, "choose one of: target, qs, ") != NULL);
  system = specverify_system_named("k_sqs");
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  specverify_edge_destroy(edge);
  edge = NULL;
  system = system_of("k-sqs");
  memset(device.secret, 0, sizeof device.secret);
  why = specverify_edge_create(&device, &system, NULL, &edge);
  IS(why, secret_missing);
  char words[256];
  IS(specverify_message(why, words, sizeof words), ok);
  CHECK(strncmp(words, "secret_missing in session at 5: ", 32) == 0);
  why = specverify_message(why, NULL, 0);
  CHECK(why.code == specverify_errc_output_too_small && why.where > 32 && why.where <= 256);
  specverify_cloud_options service = service_options();
  service.salt = 0;
  IS(specverify_cloud_create(&service, NULL, NULL, &cloud), salt_missing);
  uint8_t secret[16];
  IS(specverify_secret_from_hex("3f9a", secret), secret_missing);
  IS(specverify_edge_start(NULL, NULL, 0, 0), null_span);
  CHECK(specverify_edge_deadline(NULL) == SPECVERIFY_NO_DEADLINE && specverify_edge_text(NULL, NULL, NULL) == NULL);
  specverify_edge_destroy(NULL);
  // A session keeps no pointer of its options: biases and masks belong to rows.
  device = device_options();
  service = service_options();
  specverify_transform changed = specverify_transform_defaults();
  const uint64_t mask[16] = {~0ull};
  device.transform = service.transform = &changed;
  changed.mask_word_count = 16;
  IS(specverify_edge_create(&device, &system, NULL, &edge), null_span);
  changed.mask_words = mask;
  why = specverify_edge_create(&device, &system, NULL, &edge);
  IS(why, invalid_argument);
  CHECK(why.where == offsetof(specverify_edge_options, transform) && edge == NULL);
  why = specverify_cloud_create(&service, NULL, NULL, &cloud);
  IS(why, invalid_argument);
  CHECK(why.where == offsetof(specverify_cloud_options, transform) && cloud == NULL);
  device = device_options();
  device.stop_count = 1;
  IS(specverify_edge_create(&device, &system, NULL, &edge), null_span);
  // A callback that must be there is missed at once.
  device = device_options();
  service = service_options();
  specverify_model uncut = model_of(&small);
  uncut.truncate = NULL;
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  why = specverify_edge_drive(edge, &uncut, NULL, 0);
  CHECK(why.code == specverify_errc_null_span && why.where == offsetof(specverify_model, truncate));
  CHECK(specverify_edge_state(edge) == SPECVERIFY_EDGE_IDLE);
  specverify_edge_destroy(edge);
  // A row that is none ends the session.
  for (int side = 0; side < 2; ++side) {
    device = device_options();
    service = service_options();
    specverify_model drafter = model_of(&small), target = model_of(&large);
    *(side == 0 ? &drafter.row : &target.row) = no_row;
    IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
    IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
    IS(specverify_edge_start(edge, (const int32_t[]){1}, 1, 0), ok);
    const specverify_status ended = specverify_run_pair(edge, &drafter, cloud, &target, NULL);
    IS(ended, null_span);
    CHECK((specverify_edge_state(edge) == SPECVERIFY_EDGE_FAILED) == (side == 0));
    CHECK((specverify_cloud_state(cloud) == SPECVERIFY_CLOUD_FAILED) == (side == 1));
    specverify_edge_destroy(edge);
    specverify_cloud_destroy(cloud);
  }
}

// A number of the host's own travels to the peer as engine_failed.
static void check_own_numbers(void) {
  const specverify_system system = system_of("k-sqs");
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  const int32_t prompt[] = {1};
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
  IS(specverify_edge_start(edge, prompt, 1, 0), ok);
  specverify_output out = {.struct_size = sizeof out};
  for (out.action = SPECVERIFY_JOURNAL; out.action != SPECVERIFY_NONE;) {
    IS(specverify_edge_next(edge, &out), ok);
    if (out.action == SPECVERIFY_SEND) IS(specverify_cloud_receive(cloud, out.bytes, out.bytes_size, 0), ok);
  }
  while (specverify_cloud_next(cloud, &out).code == 0 && out.action != SPECVERIFY_NONE) {
  }
  const specverify_status own = {1000, 99, 7};
  CHECK(specverify_cloud_engine_failed(cloud, own).code == 1000);
  int sent = 0;
  while (specverify_cloud_next(cloud, &out).code == 0 && out.action != SPECVERIFY_NONE) {
    if (out.action != SPECVERIFY_SEND) continue;
    ++sent;
    (void)specverify_edge_receive(edge, out.bytes, out.bytes_size, 0);
  }
  CHECK(sent == 1 && specverify_edge_state(edge) == SPECVERIFY_EDGE_FAILED);
  const specverify_status why = specverify_edge_refusal(edge);
  CHECK(why.code == specverify_errc_engine_failed && why.part == 13);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
}

typedef struct record {
  unsigned char bytes[1 << 16];
  size_t size;
  uint32_t committed;
} record;
static int32_t keep(void* self, const specverify_output* out) {
  record* const me = (record*)self;
  CHECK(out->struct_size == sizeof *out);
  if (out->action == SPECVERIFY_JOURNAL) {
    if (out->replaces) me->size = 0;
    memcpy(me->bytes + me->size, out->bytes, out->bytes_size);
    me->size += out->bytes_size;
  }
  if (out->action == SPECVERIFY_COMMITTED) me->committed += (uint32_t)out->token_count;
  return me->committed > 20 ? specverify_errc_session_closed : 0;  // a crash
}

static void check_restart(void) {
  static record journal;
  const specverify_system system = system_of("k-sqs");
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  const specverify_model drafter = model_of(&small), target = model_of(&large);
  const specverify_observer keeper = specverify_observer_of(&journal, keep);
  const int32_t prompt[] = {1};
  counted memory = {0, 0, 0, 0};
  int32_t whole[64];
  const size_t length = run("k-sqs", SPECVERIFY_FLOAT, &memory, whole);
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
  IS(specverify_edge_start(edge, prompt, 1, 0), ok);
  IS(specverify_run_pair(edge, &drafter, cloud, &target, &keeper), session_closed);
  specverify_edge_destroy(edge);
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  size_t kept = 0;
  IS(specverify_edge_restore(edge, journal.bytes, journal.size, 0, &kept), ok);
  CHECK(kept == journal.size && journal.size > 0);
  // The cloud may still have outputs of the first life.
  specverify_output out = {.struct_size = sizeof out};
  do IS(specverify_cloud_next(cloud, &out), ok);
  while (out.action != SPECVERIFY_NONE && out.action != SPECVERIFY_EVALUATE);
  IS(specverify_run_pair(edge, &drafter, cloud, &target, NULL), ok);
  size_t count = 0;
  const int32_t* const text = specverify_edge_text(edge, &count, NULL);
  CHECK(count == length && memcmp(text, whole, 4 * count) == 0);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
}

// A host that wants no more text: both sides are over.
static void check_stop(void) {
  const specverify_system system = system_of("k-sqs");
  const specverify_edge_options device = device_options();
  const specverify_cloud_options service = service_options();
  const specverify_model drafter = model_of(&small), target = model_of(&large);
  const int32_t prompt[] = {1};
  specverify_edge* edge = NULL;
  specverify_cloud* cloud = NULL;
  IS(specverify_edge_create(&device, &system, NULL, &edge), ok);
  IS(specverify_cloud_create(&service, &system, NULL, &cloud), ok);
  IS(specverify_edge_stop(edge, SPECVERIFY_STOP_CANCELLED, 0), unexpected_message);
  IS(specverify_edge_stop(edge, 2, 0), invalid_argument);
  IS(specverify_edge_stop(edge, 200, 0), invalid_argument);
  IS(specverify_edge_start(edge, prompt, 1, 0), ok);
  IS(specverify_edge_stop(edge, SPECVERIFY_STOP_CANCELLED, 0), busy);
  IS(write_ten(edge, &drafter, cloud, &target), ok);
  size_t count = 0;
  (void)specverify_edge_text(edge, &count, NULL);
  CHECK(count > 10 && count < 21);
  CHECK(specverify_edge_state(edge) == SPECVERIFY_EDGE_FINISHED);
  CHECK(specverify_cloud_state(cloud) == SPECVERIFY_CLOUD_FINISHED);
  IS(specverify_edge_stop(edge, SPECVERIFY_STOP_CANCELLED, 0), session_closed);
  specverify_edge_destroy(edge);
  specverify_cloud_destroy(cloud);
}

int main(void) {
  check_systems();
  for (int i = 0; i < system_count; ++i) check_memory(systems[i]);
  check_struct_sizes();
  check_abi();
  check_names();
  check_fingerprint();
  check_page();
  check_callbacks();
  check_tokens();
  check_noise();
  check_prior();
  check_supplied_tokens();
  check_failed_rows();
  check_refusals();
  check_own_numbers();
  check_restart();
  check_stop();
  CHECK(specverify_version() == 100);
  printf("%d systems on %s vectors, %d checks failed\n", system_count, specverify_vectors(), failed_checks);
  return failed_checks != 0;
}
