// SPDX-License-Identifier: Apache-2.0
// Functions for single rounds without a session, in C11 or C++17, for hosts with their own protocol. They compute the
// distribution of a draft, draw tokens, encode and decode draft messages, and verify drafts. docs/c.md is a guide.
//
// Memory    The caller owns all memory; nothing is allocated. If the space for a result is null or too small, the
//           function returns output_too_small, and `where` is the number of bytes or drafts needed (UINT32_MAX: that
//           many or more).
// Threads   The functions share no state, so any number of threads may call them at the same time.
// Draws     A random number is a function of (key, position, round). Each side must have a different secret, and must
//           draw each position of a round only once.
#ifndef SPECVERIFY_C_CORE_H
#define SPECVERIFY_C_CORE_H

#include <specverify_c_base.h>

#ifdef __cplusplus
extern "C" {
#endif

// A distribution in integers (a `law`): q^(v) = count(v) / resolution. Each id that is not listed has the count
// `tail_count`.
typedef struct specverify_law {
  const int32_t* ids;      // must be strictly ascending
  const uint32_t* counts;  // indexed like ids
  uint32_t size;
  uint32_t tail_count;
  uint32_t resolution;  // sum of all counts
  uint32_t vocab_size;
} specverify_law;

typedef struct specverify_draft {
  int32_t token;
  specverify_law law;  // distribution that the token was drawn from
} specverify_draft;

typedef struct specverify_key {
  uint32_t word[2];
} specverify_key;

// Workspace of a function. Results of the function can point into this memory.
typedef struct specverify_space {
  void* data;
  size_t size;
} specverify_space;

// Compute the key of a device's draws, and the key of a cloud's verdicts. Errors: secret_missing (all bytes are 0),
// salt_missing (`salt` is 0).
SPECVERIFY_API specverify_status specverify_draft_key(const uint8_t secret[16], uint64_t session_id,
                                                      specverify_key* key);
SPECVERIFY_API specverify_status specverify_verdict_key(const uint8_t secret[16], uint64_t session_id, uint64_t salt,
                                                        specverify_key* key);

// Computes the distribution that a system drafts from and sends, from one row. `transform` may be null (the default
// transform). The arrays of the result are in `space`. Supports qs, k-sqs without round_bits, hlm, sd-reject and
// compressed-hlm. Errors: unsupported (any other system), output_too_small, errors of the system and of the row.
SPECVERIFY_API specverify_status specverify_draft_law(const specverify_system* system, const specverify_row* row,
                                                      const specverify_transform* transform, specverify_space space,
                                                      specverify_law* law);
// Draws a token from a distribution. Errors: null_span, misaligned, empty_support, ids_not_ascending,
// token_out_of_range, counts_do_not_sum, invalid_resolution, vocabulary_too_large.
SPECVERIFY_API specverify_status specverify_draw(const specverify_law* law, specverify_key key, uint32_t position,
                                                 uint32_t round, int32_t* token);
// Computes the bits that the distribution takes in the system's code, without the token.
// Errors: as for specverify_draw; unsupported (target, greedy, shared-noise and wisv, which send no distributions);
// errors of the system.
SPECVERIFY_API specverify_status specverify_law_bits(const specverify_system* system, const specverify_law* law,
                                                     double* bits);

// State of a round that both sides share. The check of each message covers the hash and the round.
typedef struct specverify_round {
  size_t struct_size;
  uint32_t abi;
  uint32_t vocab_size;
  uint64_t prefix_hash;
  uint32_t round;
  uint32_t base_length;  // number of committed tokens = position of the first draft
  uint32_t check_bits;   // bits of the check: 0, 8 (default) or 16
} specverify_round;

SPECVERIFY_API specverify_status specverify_round_init(specverify_round* made, size_t size, uint32_t abi);
static inline specverify_round specverify_round_defaults(void) {
  specverify_round made;
  (void)specverify_round_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// Encodes one draft message, for systems that send distributions. Set *size to the size of `out`; the function changes
// it to the number of bytes written. Pass enough memory in the first call, because output_too_small needs a second
// encoding to compute the size needed. After an error the bytes at `out` are invalid.
SPECVERIFY_API specverify_status specverify_encode(const specverify_round* round, const specverify_system* system,
                                                   const specverify_draft* drafts, size_t count, void* out,
                                                   size_t* size);
// Decodes one draft message. Set *count to the number of drafts that `drafts` can hold; the function changes it to the
// number of drafts read, at most the system's max_draft_length. The arrays of the distributions are in `space`.
SPECVERIFY_API specverify_status specverify_decode(const specverify_round* round, const specverify_system* system,
                                                   specverify_space message, specverify_space space,
                                                   specverify_draft* drafts, size_t* count);

typedef struct specverify_target {
  size_t struct_size;
  specverify_key key;          // from specverify_verdict_key
  const specverify_row* rows;  // rows of the target, at least one more than drafts; all must have one scalar type
  size_t row_count;
  const specverify_transform* transform;  // for all rows; null: the default transform
  const int32_t* stop_tokens;
  size_t stop_count;
  uint32_t remaining_budget;  // tokens that may still be committed
  uint32_t trial_cap;
  uint32_t no_bonus;  // 1: no token follows if all drafts are accepted
} specverify_target;

SPECVERIFY_API specverify_status specverify_target_init(specverify_target* made, size_t size, uint32_t abi);
static inline specverify_target specverify_target_defaults(void) {
  specverify_target made;
  (void)specverify_target_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// The host must commit the first `accepted` drafts, and then `next_token` if it is not -1.
typedef struct specverify_verdict {
  size_t struct_size;
  uint32_t accepted;
  int32_t next_token;
  uint32_t commit_length;
  uint32_t source;  // source of next_token: 0 none, 1 residual, 2 bonus, 3 residual fallback
  uint32_t stop;    // specverify_stop: none, token or budget
  uint32_t near_ties;
} specverify_verdict;

// Applies the token rule. If each draft was drawn from its distribution, committed tokens follow the target's
// distribution. Set verdict->struct_size first.
// Errors: draft_too_long; too_few_rows; token_not_in_law, vocabulary_mismatch and errors of an invalid distribution
// (`where` = draft); row_size_mismatch, invalid_argument (another scalar type) and errors of rows (`where` = row);
// output_too_small (`where` = bytes of `space`).
SPECVERIFY_API specverify_status specverify_verify(const specverify_round* round, const specverify_draft* drafts,
                                                   size_t count, const specverify_target* target,
                                                   specverify_space space, specverify_verdict* verdict);

#ifdef __cplusplus
}
#endif

#endif
