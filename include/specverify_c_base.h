// SPDX-License-Identifier: Apache-2.0
// Defines the types that both headers of the C interface share: statuses, rows, methods by name, options and tables of
// id weights. Include specverify_c.h for sessions, or specverify_c_core.h for rounds without a session.
#ifndef SPECVERIFY_C_BASE_H
#define SPECVERIFY_C_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(SPECVERIFY_C_EXPORTS)
#define SPECVERIFY_API __attribute__((visibility("default")))
#else
#define SPECVERIFY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- Header and library

// Version number of this interface. Structs of options, systems and rounds contain the number in the headers of the
// program; `..._defaults()` and specverify_system_named set it. If the library has another number, a call with such a
// struct returns abi_mismatch (`where` = the library's number).
#define SPECVERIFY_ABI 4u
SPECVERIFY_API uint32_t specverify_abi(void);
// Returns major * 10000 + minor * 100 + patch of the loaded library.
SPECVERIFY_API uint32_t specverify_version(void);
// Returns the vector level that the library uses on this CPU: "baseline", "AVX2", "AVX-512", "AVX-512 IFMA".
SPECVERIFY_API const char* specverify_vectors(void);

// ---- Status

typedef struct specverify_status {
  uint16_t code;   // specverify_errc_*; 0: ok
  uint16_t part;   // module that found the error
  uint32_t where;  // position of the error, for example the index of the wrong element; depends on the error
} specverify_status;

enum specverify_errc {
#define SPECVERIFY_ERRC(name, number, message) specverify_errc_##name = number,
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  specverify_errc_reserved = 0xffff
};

// Writes the sentence for a status, with a terminating zero. 256 bytes are always enough. Errors: output_too_small
// (`where` = bytes needed).
SPECVERIFY_API specverify_status specverify_message(specverify_status why, char* out, size_t size);
// Returns the name of a code without the prefix specverify_errc_, or null if the code is unknown.
SPECVERIFY_API const char* specverify_errc_name(uint32_t code);

// Reasons why a text ends: `stop` of an output, and the cause that specverify_edge_stop takes.
enum specverify_stop {
  SPECVERIFY_STOP_NONE = 0,      // in an output: no reason
  SPECVERIFY_STOP_FINISHED = 0,  // as a cause: the host needs no more text
  SPECVERIFY_STOP_TOKEN = 1,
  SPECVERIFY_STOP_BUDGET = 2,
  SPECVERIFY_STOP_CANCELLED = 3  // the edge's host ended the text
};

// ---- Rows and transforms

enum specverify_scalar { SPECVERIFY_FLOAT = 0, SPECVERIFY_FLOAT16 = 1, SPECVERIFY_BFLOAT16 = 2 };

// One row of a model. Entry v is element v * stride of the array `data`. Use specverify_logits, or set the fields
// yourself.
typedef struct specverify_row {
  const void* data;
  uint32_t size;        // number of stored entries
  uint32_t valid_size;  // number of entries that are tokens; engines pad rows
  uint32_t stride;
  uint8_t scalar;
  uint8_t probabilities;  // 0: logits; 1: final probabilities
} specverify_row;

static inline specverify_row specverify_logits(const float* values, uint32_t size) {
  const specverify_row made = {values, size, size, 1, SPECVERIFY_FLOAT, 0};
  return made;
}

// Steps that turn a row into the final distribution, in this order: bias, mask, temperature, truncation.
typedef struct specverify_transform {
  size_t struct_size;
  double temperature;         // >= 0; below 1e-6: argmax
  double top_p;               // (0, 1]; 1: off
  double min_p;               // [0, 1]; 0: off
  uint32_t top_k;             // 0: off
  uint32_t truncation_order;  // 0: joint (both cut the full distribution); 1: top-k first; 2: top-p first
  const int32_t* bias_ids;    // must be strictly ascending
  const float* bias_values;   // added to the logits of bias_ids
  size_t bias_count;
  const uint64_t* mask_words;  // token v is allowed if bit v % 64 of word v / 64 is set; null: all are allowed
  size_t mask_word_count;
} specverify_transform;

// Writes the defaults into a struct of `size` bytes, like every `..._init`. Use it in a program that cannot call inline
// functions. Pass the size and the ABI number of the program's headers.
// Errors: abi_mismatch, struct_size_wrong, null_span (`made` is null).
SPECVERIFY_API specverify_status specverify_transform_init(specverify_transform* made, size_t size, uint32_t abi);
static inline specverify_transform specverify_transform_defaults(void) {
  specverify_transform made;
  (void)specverify_transform_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// ---- Systems, options, memory

// A parameter of a system; a switch is 0 or 1.
typedef struct specverify_setting {
  const char* name;  // "support_size"
  double value;
} specverify_setting;

// A system: the name of a paper's method, and its settings. A hyphen in the name may be an underscore, or missing.
// Errors of calls that take a system: unknown_system (the status text lists all names); unknown_setting and
// setting_out_of_range (`where` = index of the setting); setting_missing (`where` = index in the list of
// docs/algorithms/systems.md).
typedef struct specverify_system {
  size_t struct_size;
  uint32_t abi;
  uint32_t setting_count;
  const char* name;
  const specverify_setting* settings;  // other settings get their defaults
} specverify_system;

SPECVERIFY_API specverify_status specverify_system_init(specverify_system* made, size_t size, uint32_t abi,
                                                        const char* name);
static inline specverify_system specverify_system_named(const char* name) {
  specverify_system made;
  (void)specverify_system_init(&made, sizeof made, SPECVERIFY_ABI, name);
  return made;
}
// Returns a system with settings. `settings` must stay valid as long as the system is used.
static inline specverify_system specverify_system_with(const char* name, const specverify_setting* settings,
                                                       uint32_t setting_count) {
  specverify_system made = specverify_system_named(name);
  made.settings = settings;
  made.setting_count = setting_count;
  return made;
}
// Returns the name at `index` (from 0), or null after the last name. The list omits qs-dqn, because its network can be
// passed only in C++.
SPECVERIFY_API const char* specverify_system_name(uint32_t index);

// Source of the memory of a session or a table. `allocate` must return null if there is no memory; a hook must not fail
// in any other way. Only `..._create` and `..._destroy` call the hooks.
typedef struct specverify_allocator {
  size_t struct_size;
  void* self;
  void* (*allocate)(void* self, size_t size, size_t alignment);
  void (*deallocate)(void* self, void* memory, size_t size, size_t alignment);
} specverify_allocator;

// A table of id weights. With it, an edge can send the ids of drafts in fewer bits (docs/algorithms/token_prior.md).
// Any number of sessions and threads can use a table at the same time.
typedef struct specverify_prior specverify_prior;

// Reads the file of a table for a vocabulary of `vocab_size` tokens. `memory` may be null for the C++ heap. On an error
// *made is null. Errors: null_span, and the errors of prior_table::read (codec/prior_table.hpp).
SPECVERIFY_API specverify_status specverify_prior_create(const void* file, size_t size, uint32_t vocab_size,
                                                         const specverify_allocator* memory, specverify_prior** made);
// Destroys a table; null: does nothing. Destroy the sessions that use the table first.
SPECVERIFY_API void specverify_prior_destroy(specverify_prior* prior);

typedef struct specverify_edge_options {
  size_t struct_size;
  uint32_t abi;
  uint32_t vocab_size;        // must be set, and equal to the cloud's
  uint64_t session_id;        // must be unique for the device's secret
  uint8_t secret[16];         // secret of this device; must be set; never sent
  uint32_t token_budget;      // maximum tokens to generate; 0: until max_text_length
  uint32_t max_text_length;   // maximum tokens of prompt and generated text together
  uint32_t pad_to;            // messages are padded to a multiple of this many bytes
  uint32_t mode;              // 0: draft and verify; 1: the cloud generates without drafts
  uint64_t fingerprint_high;  // vocabulary fingerprint; must equal the cloud's; see specverify_fingerprint_finish
  uint64_t fingerprint_low;
  double threshold;                       // wisv: sent to the cloud
  const specverify_transform* transform;  // null: the default transform
  const int32_t* stop_tokens;
  size_t stop_count;
  uint64_t retry_timeout;  // microseconds until an unanswered request leads to a new handshake; 0: never
  uint64_t salt;           // for nonces; must differ between processes if messages outlive one; 0: the time is used
  uint32_t retry_limit;    // maximum handshakes without progress
  uint32_t check_bits;     // per message: 16; 8 or 0 only if the transport itself delivers whole messages in order
  uint32_t text_chunk;
  uint32_t on_link_loss;  // 0: wait; 1: stop; 2: continue without the cloud
  uint32_t max_ahead;
  uint32_t journal_drafts;  // 0: automatic; 1: always; 2: never
  // greedy, shared-noise, wisv: codes the ids if the cloud has the same table. Must outlive the session. null: plain
  // ids
  const specverify_prior* prior;
  uint32_t ids;  // with `prior`: the code of ids that the edge asks for, SPECVERIFY_ID_CODE_...; 2 needs shared-noise
} specverify_edge_options;

SPECVERIFY_API specverify_status specverify_edge_options_init(specverify_edge_options* made, size_t size, uint32_t abi);
static inline specverify_edge_options specverify_edge_defaults(void) {
  specverify_edge_options made;
  (void)specverify_edge_options_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

typedef struct specverify_cloud_options {
  size_t struct_size;
  uint32_t abi;
  uint32_t vocab_size;       // must be set, and equal to each edge's
  uint64_t salt;             // from a secure random source; must not be 0 and must differ between sessions; never sent
  uint8_t secret[16];        // secret of this cloud; must be set; never sent
  uint32_t max_text_length;  // maximum tokens of prompt and generated text together
  uint32_t required;         // minimum guarantee of drafts; 0: lossy; 1: honest drafter; 2: unconditional
  uint64_t fingerprint_high;
  uint64_t fingerprint_low;
  const specverify_transform* transform;  // determines the size of the workspace; null: the default transform
  const int32_t* stop_tokens;
  size_t stop_count;
  uint32_t trial_cap;
  uint32_t text_chunk;
  uint32_t lazy;        // wisv: 1: each request is for the hidden states of one mismatch only
  uint32_t check_bits;  // as for the edge; the larger number of both sides is used
  // Maximum values that an edge may request. 0: enough for the system `serves` of specverify_cloud_create.
  uint32_t max_draft_length;
  uint32_t max_law_entries;
  uint32_t max_skipped;
  uint32_t max_hidden_bytes;
  uint32_t max_message_bytes;
  // tables that edges may use to code ids, at most 16; the tables must outlive the session
  const specverify_prior* const* priors;
  size_t prior_count;
  // shared-noise: kind of noise, for example the kind of the engine that samples the tokens. 0: the kind that the edge
  // requests, which is 1; 1: Philox; 2 and 3: vLLM, float and double; 4: SGLang
  uint32_t noise;
} specverify_cloud_options;

SPECVERIFY_API specverify_status specverify_cloud_options_init(specverify_cloud_options* made, size_t size,
                                                               uint32_t abi);
static inline specverify_cloud_options specverify_cloud_defaults(void) {
  specverify_cloud_options made;
  (void)specverify_cloud_options_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// Reads 32 hex digits, not all 0. Errors: secret_missing (any other text; the secret becomes zeros, which no session
// accepts).
SPECVERIFY_API specverify_status specverify_secret_from_hex(const char* text, uint8_t secret[16]);

// ---- Fingerprint of a vocabulary, equal to that of C++ hosts and of the llama.cpp adapter

enum specverify_token_class { SPECVERIFY_TOKEN_TEXT = 0, SPECVERIFY_TOKEN_SPECIAL = 1, SPECVERIFY_TOKEN_BYTE = 2 };

// Must begin as zeros: specverify_fingerprint tokens = {{0}};
typedef struct specverify_fingerprint {
  uint64_t state[4];
} specverify_fingerprint;

// Adds the next token: its id, its bytes, and its specverify_token_class. Ids must be ascending.
// Errors: token_out_of_range (a negative id) and ids_not_ascending (`where` = number of tokens added before),
// invalid_argument (`where` = the unknown class). On an error nothing is added.
SPECVERIFY_API specverify_status specverify_fingerprint_add(specverify_fingerprint* tokens, int32_t id,
                                                            const void* piece, size_t size, uint32_t token_class);
// Writes the fingerprint of the tokens added so far.
SPECVERIFY_API specverify_status specverify_fingerprint_finish(const specverify_fingerprint* tokens, uint64_t* high,
                                                               uint64_t* low);

#ifdef __cplusplus
}
#endif

#endif
