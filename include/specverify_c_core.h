// SPDX-License-Identifier: Apache-2.0
// The rounds of specverify without a session, for hosts in C11 and C++17 with a protocol of their own: the law of a
// draft, draws, messages, verdicts, bits. Guide: docs/c.md
//
// Memory    Yours. A function that has too little space or room, or none (null), says how much it needs:
//           output_too_small, `where` = bytes, or drafts; UINT32_MAX: so many or more. Nothing is allocated.
// Threads   All functions are pure: any number may run at once.
// Draws     Numbers are a function of (key, position, round). Each side keeps its own secret. A position of a round is
//           drawn once.
#ifndef SPECVERIFY_C_CORE_H
#define SPECVERIFY_C_CORE_H

#include <specverify_c_base.h>

#ifdef __cplusplus
extern "C" {
#endif

// A law in integers: q^(v) = count(v) / resolution; ids that are not listed have `tail_count` each.
typedef struct specverify_law {
  const int32_t* ids;      // strictly ascending
  const uint32_t* counts;  // one for each
  uint32_t size;
  uint32_t tail_count;
  uint32_t resolution;  // the sum of all counts
  uint32_t vocab_size;
} specverify_law;

typedef struct specverify_draft {
  int32_t token;
  specverify_law law;  // that it was drawn from
} specverify_draft;

typedef struct specverify_key {
  uint32_t word[2];
} specverify_key;

// Space that a function may use; what it gives back may lie there.
typedef struct specverify_space {
  void* data;
  size_t size;
} specverify_space;

// Keys of a device's draws and of a cloud's verdicts. Errors: secret_missing, salt_missing.
SPECVERIFY_API specverify_status specverify_draft_key(const uint8_t secret[16], uint64_t session_id,
                                                      specverify_key* key);
SPECVERIFY_API specverify_status specverify_verdict_key(const uint8_t secret[16], uint64_t session_id, uint64_t salt,
                                                        specverify_key* key);

// The law that a system drafts from and sends, of one row. `transform`: null: the default one. The law's arrays lie in
// `space`. Systems: qs, k-sqs, hlm, compressed-hlm; unsupported: those without a law, and those with a state or a gate.
SPECVERIFY_API specverify_status specverify_draft_law(const specverify_system* system, const specverify_row* row,
                                                      const specverify_transform* transform, specverify_space space,
                                                      specverify_law* law);
// A token of the law. Errors: those of a law that does not hold (counts_do_not_sum...).
SPECVERIFY_API specverify_status specverify_draw(const specverify_law* law, specverify_key key, uint32_t position,
                                                 uint32_t round, int32_t* token);
// Bits that the law costs in the system's code, the token not counted. Of all systems but greedy and wisv.
SPECVERIFY_API specverify_status specverify_law_bits(const specverify_system* system, const specverify_law* law,
                                                     double* bits);

// What both sides know of a round. Its messages end with a check over the hash and the round.
typedef struct specverify_round {
  size_t struct_size;
  uint32_t abi;
  uint32_t vocab_size;
  uint64_t prefix_hash;
  uint32_t round;
  uint32_t base_length;  // committed tokens: position of the first draft
  uint32_t check_bits;   // of the check: 0, 8 (the default) or 16
} specverify_round;

SPECVERIFY_API specverify_status specverify_round_init(specverify_round* made, size_t size, uint32_t abi);
static inline specverify_round specverify_round_defaults(void) {
  specverify_round made;
  (void)specverify_round_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// One draft message. *size: bytes at `out`, then bytes written. Systems that send laws. On an error the bytes at `out`
// are void. Encoded once where it fits; asking for its size first takes as long as encoding it.
SPECVERIFY_API specverify_status specverify_encode(const specverify_round* round, const specverify_system* system,
                                                   const specverify_draft* drafts, size_t count, void* out,
                                                   size_t* size);
// And back. *count: room at `drafts`, then drafts read; a message has at most the system's max_draft_length. Their laws
// lie in `space`.
SPECVERIFY_API specverify_status specverify_decode(const specverify_round* round, const specverify_system* system,
                                                   specverify_space message, specverify_space space,
                                                   specverify_draft* drafts, size_t* count);

typedef struct specverify_target {
  size_t struct_size;
  specverify_key key;          // of specverify_verdict_key
  const specverify_row* rows;  // of the target, one more than drafts, all of one kind of scalar
  size_t row_count;
  const specverify_transform* transform;  // of all rows; null: the default one
  const int32_t* stop_tokens;
  size_t stop_count;
  uint32_t remaining_budget;  // tokens that may still be committed
  uint32_t trial_cap;
  uint32_t no_bonus;  // 1: a draft that stands whole is not followed by another token
} specverify_target;

SPECVERIFY_API specverify_status specverify_target_init(specverify_target* made, size_t size, uint32_t abi);
static inline specverify_target specverify_target_defaults(void) {
  specverify_target made;
  (void)specverify_target_init(&made, sizeof made, SPECVERIFY_ABI);
  return made;
}

// Commit the first `accepted` drafts, then `next_token` where it is not -1.
typedef struct specverify_verdict {
  size_t struct_size;
  uint32_t accepted;
  int32_t next_token;
  uint32_t commit_length;
  uint32_t source;  // of the next token: 0 none, 1 residual, 2 bonus, 3 residual fallback
  uint32_t stop;    // specverify_stop: none, token or budget
  uint32_t near_ties;
} specverify_verdict;

// The token rule: what is committed has the target's law, whatever the drafts' laws are. Drafts must have been drawn
// from the laws that they carry. Set verdict->struct_size first. Errors: those of a law that does not hold and
// token_not_in_law (`where` = draft), those of rows (`where` = row).
SPECVERIFY_API specverify_status specverify_verify(const specverify_round* round, const specverify_draft* drafts,
                                                   size_t count, const specverify_target* target,
                                                   specverify_space space, specverify_verdict* verdict);

#ifdef __cplusplus
}
#endif

#endif
