// SPDX-License-Identifier: Apache-2.0
// What both headers of the C interface share: status, rows, systems by name, options. Include specverify_c.h for
// sessions and specverify_c_core.h for rounds without one.
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

// ---- The two halves

// The number of this interface. Options, systems and rounds carry it from the program to the library, which refuses
// another one than its own by abi_mismatch (`where` = its own). `..._defaults()` and specverify_system_named set it.
#define SPECVERIFY_ABI 4u
SPECVERIFY_API uint32_t specverify_abi(void);
// major * 10000 + minor * 100 + patch of the library that runs.
SPECVERIFY_API uint32_t specverify_version(void);
// The vectors that it runs on here: "baseline", "AVX2", "AVX-512", "AVX-512 IFMA".
SPECVERIFY_API const char* specverify_vectors(void);

// ---- Status

typedef struct specverify_status {
  uint16_t code;   // specverify_errc_*; 0: ok
  uint16_t part;   // who found it
  uint32_t where;  // index of what is wrong, as the error says
} specverify_status;

enum specverify_errc {
#define SPECVERIFY_ERRC(name, number, message) specverify_errc_##name = number,
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  specverify_errc_reserved = 0xffff
};

// A status in words, ended by a zero. 256 bytes hold every one. Errors: output_too_small (`where` = bytes needed).
SPECVERIFY_API specverify_status specverify_message(specverify_status why, char* out, size_t size);
// The name of a code, as in specverify_errc_*; null: there is none.
SPECVERIFY_API const char* specverify_errc_name(uint32_t code);

// Why a text ends: `stop` of an output, and the cause that specverify_edge_stop takes.
enum specverify_stop {
  SPECVERIFY_STOP_NONE = 0,      // of an output: no reason
  SPECVERIFY_STOP_FINISHED = 0,  // a cause: the host has all that it needs
  SPECVERIFY_STOP_TOKEN = 1,
  SPECVERIFY_STOP_BUDGET = 2,
  SPECVERIFY_STOP_CANCELLED = 3  // the edge's host ended the text
};

// ---- Rows and what makes them final

enum specverify_scalar { SPECVERIFY_FLOAT = 0, SPECVERIFY_FLOAT16 = 1, SPECVERIFY_BFLOAT16 = 2 };

// One row of a model: entry v stands at `data` + v * stride. Made by specverify_logits, or by hand.
typedef struct specverify_row {
  const void* data;
  uint32_t size;        // entries that are stored
  uint32_t valid_size;  // of them, tokens; engines pad
  uint32_t stride;
  uint8_t scalar;
  uint8_t probabilities;  // 0: logits; 1: a final law
} specverify_row;

static inline specverify_row specverify_logits(const float* values, uint32_t size) {
  const specverify_row made = {values, size, size, 1, SPECVERIFY_FLOAT, 0};
  return made;
}

// In this order: bias, mask, temperature, truncation.
typedef struct specverify_transform {
  size_t struct_size;
  double temperature;         // >= 0; below 1e-6: the argmax
  double top_p;               // (0, 1]; 1: off
  double min_p;               // [0, 1]; 0: off
  uint32_t top_k;             // 0: off
  uint32_t truncation_order;  // 0: joint; 1: top-k, then top-p; 2: top-p, then top-k
  const int32_t* bias_ids;    // strictly ascending
  const float* bias_values;   // added to their logits
  size_t bias_count;
  const uint64_t* mask_words;  // bit v of word v / 64 set: v is allowed; none: all are
  size_t mask_word_count;
} specverify_transform;

// Every `..._init` writes the defaults into a struct of `size` bytes, for programs that cannot call inline functions:
// they give the size and the ABI number that they were written for. Errors: abi_mismatch, struct_size_wrong.
SPECVERIFY_API specverify_status specverify_transform_init(specverify_transform* made, size_t size, uint32_t abi);
static inline specverify_transform specverify_transform_defaults(void) {
  specverify_transform made;
  (void)specverify_transform_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// ---- Systems, options, memory

// A number that a system is set to; a switch is 0 or 1.
typedef struct specverify_setting {
  const char* name;  // "support_size"
  double value;
} specverify_setting;

// A system of the papers by its name; hyphens may be underscores, or missing. Errors of each call that takes one:
// unknown_system (its text lists all), unknown_setting and setting_out_of_range (`where` = index of the setting),
// setting_missing (`where` = index in the system's list, docs/algorithms/systems.md).
typedef struct specverify_system {
  size_t struct_size;
  uint32_t abi;
  uint32_t setting_count;
  const char* name;
  const specverify_setting* settings;  // those that are not given have their defaults
} specverify_system;

SPECVERIFY_API specverify_status specverify_system_init(specverify_system* made, size_t size, uint32_t abi,
                                                        const char* name);
static inline specverify_system specverify_system_named(const char* name) {
  specverify_system made;
  (void)specverify_system_init(&made, sizeof made, SPECVERIFY_ABI, name);
  return made;
}
// The settings are read by the calls that take the system.
static inline specverify_system specverify_system_with(const char* name, const specverify_setting* settings,
                                                       uint32_t setting_count) {
  specverify_system made = specverify_system_named(name);
  made.settings = settings;
  made.setting_count = setting_count;
  return made;
}
// The names, from 0 on; null: there are no more. Without those that need C++ (qs-dqn, whose network is C++).
SPECVERIFY_API const char* specverify_system_name(uint32_t index);

// Where a session's memory comes from. `allocate` returns null where there is none. No hook fails otherwise, and both
// may be called by `..._create` and `..._destroy` alone.
typedef struct specverify_allocator {
  size_t struct_size;
  void* self;
  void* (*allocate)(void* self, size_t size, size_t alignment);
  void (*deallocate)(void* self, void* memory, size_t size, size_t alignment);
} specverify_allocator;

typedef struct specverify_edge_options {
  size_t struct_size;
  uint32_t abi;
  uint32_t vocab_size;        // must be set; the cloud's is the same
  uint64_t session_id;        // unique for the device's secret
  uint8_t secret[16];         // of this device; must be set; never travels
  uint32_t token_budget;      // tokens to generate; 0: until max_text_length
  uint32_t max_text_length;   // prompt and text
  uint32_t pad_to;            // messages are padded to a multiple of so many bytes
  uint32_t mode;              // 0: draft and verify; 1: the cloud writes alone
  uint64_t fingerprint_high;  // of the vocabulary, as the cloud's: specverify_fingerprint_finish
  uint64_t fingerprint_low;
  double threshold;                       // wisv: told to the cloud
  const specverify_transform* transform;  // none: the default one
  const int32_t* stop_tokens;
  size_t stop_count;
  uint64_t retry_timeout;  // microseconds until an answer is given up, and hands are shaken again; 0: never
  uint64_t salt;           // of hellos: another one for each process, where messages outlive it; 0: of the time
  uint32_t retry_limit;    // handshakes without progress
  uint32_t check_bits;     // of each message: 16; 8 or 0 where the transport itself delivers in order and whole
  uint32_t text_chunk;
  uint32_t on_link_loss;  // 0: wait; 1: stop; 2: go on alone
  uint32_t max_ahead;
  uint32_t journal_drafts;  // 0: automatic; 1: always; 2: never
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
  uint32_t vocab_size;       // must be set; each edge's is the same
  uint64_t salt;             // another one for each session, not 0, from the system's random source; never travels
  uint8_t secret[16];        // of this cloud; must be set; never travels
  uint32_t max_text_length;  // prompt and text
  uint32_t required;         // refuses weaker drafts; 0: lossy; 1: honest drafter; 2: unconditional
  uint64_t fingerprint_high;
  uint64_t fingerprint_low;
  const specverify_transform* transform;  // sizes the workspace; none: the default one
  const int32_t* stop_tokens;
  size_t stop_count;
  uint32_t trial_cap;
  uint32_t text_chunk;
  uint32_t lazy;        // wisv: 1: asks for one mismatch at a time
  uint32_t check_bits;  // as the edge's; the larger one of both sides counts
  // Limits on what an edge may ask for. 0: those of the systems that the cloud serves.
  uint32_t max_draft_length;
  uint32_t max_law_entries;
  uint32_t max_skipped;
  uint32_t max_hidden_bytes;
  uint32_t max_message_bytes;
} specverify_cloud_options;

SPECVERIFY_API specverify_status specverify_cloud_options_init(specverify_cloud_options* made, size_t size,
                                                               uint32_t abi);
static inline specverify_cloud_options specverify_cloud_defaults(void) {
  specverify_cloud_options made;
  (void)specverify_cloud_options_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// 32 hex digits. Errors: secret_missing (another text; the secret is then zeros, which no session takes).
SPECVERIFY_API specverify_status specverify_secret_from_hex(const char* text, uint8_t secret[16]);

// ---- The fingerprint of a vocabulary: the one that C++ hosts and the adapter of llama.cpp compute

enum specverify_token_class { SPECVERIFY_TOKEN_TEXT = 0, SPECVERIFY_TOKEN_SPECIAL = 1, SPECVERIFY_TOKEN_BYTE = 2 };

// Begins as zeros: specverify_fingerprint tokens = {{0}};
typedef struct specverify_fingerprint {
  uint64_t state[4];
} specverify_fingerprint;

// The next token, ids ascending: the bytes of its piece, and a specverify_token_class. Errors:
// token_out_of_range (negative), ids_not_ascending (`where` = how many were added), invalid_argument (`where` = the
// class); then nothing is added.
SPECVERIFY_API specverify_status specverify_fingerprint_add(specverify_fingerprint* tokens, int32_t id,
                                                            const void* piece, size_t size, uint32_t token_class);
// Of the tokens so far.
SPECVERIFY_API specverify_status specverify_fingerprint_finish(const specverify_fingerprint* tokens, uint64_t* high,
                                                               uint64_t* low);

#ifdef __cplusplus
}
#endif

#endif
