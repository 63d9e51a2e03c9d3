// SPDX-License-Identifier: Apache-2.0
// The sessions of specverify for hosts in C11 and C++17: a device that drafts and a cloud that verifies, by name.
// The library's own rounds, without a session, are in specverify_c_core.h. Guide with an example: docs/c.md
//
// Options   A struct begins with its size: take it from `..._defaults()` and change what you want. What its pointers
//           point to is read during `..._create` alone. A struct of an older program is taken, fields that it lacks
//           have their defaults. One of a newer program is taken where the fields unknown here are zero; else
//           unknown_option, `where` = offset of the first such byte. A size that no version of the struct has, such as
//           0 or one that ends inside a member, is struct_size_wrong. An array that is not aligned to its element is
//           misaligned.
// Errors    Every function returns a status with the numbers of specverify/core/errc.def. No exception leaves the
//           library.
// Callbacks return 0 where all went well. Any other number ends the session, and the call with it: a specverify_errc_*
//           or one of the host's own, 1000 to 65535; any other is engine_failed with the number as `where`.
//           A callback must return: it must not throw and must not leave by longjmp. It must not call a function that
//           takes an input of the same session or destroys it.
// Memory    A session takes all of its memory from its allocator when it is made, and gives it back when destroyed.
// Threads   A session is used by one thread at a time. Sessions share nothing that changes; any number runs at once.
// Pointers  What an output, `..._text` and `..._statistics` point to lives until the next call with that session.
#ifndef SPECVERIFY_C_H
#define SPECVERIFY_C_H

#include <specverify_c_base.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- What a session asks of its host

enum specverify_action {
  SPECVERIFY_NONE = 0,       // nothing left; the session waits for an input
  SPECVERIFY_JOURNAL = 1,    // append `bytes` to the journal, durably; `replaces`: they are the whole journal
  SPECVERIFY_SEND = 2,       // send `bytes` as one message
  SPECVERIFY_EVALUATE = 3,   // feed `tokens` at `position`; rows of the last `rows` of them are wanted
  SPECVERIFY_ROLLBACK = 4,   // cut the engine's cache to `position` tokens
  SPECVERIFY_COMMITTED = 5,  // `tokens` at `position` are final; the first `accepted` of them are accepted drafts
  SPECVERIFY_TENTATIVE = 6,  // `tokens` at `position` were drafted
  SPECVERIFY_RETRACTED = 7,  // drafted tokens from `position` on are void
  SPECVERIFY_SCORE = 8,      // wisv, cloud: `rows` drafts want a score; `positions`: which, `bytes`: their states
  SPECVERIFY_FINISHED = 9,   // the text is complete; `stop` says why
  SPECVERIFY_FAILED = 10     // the session is over; `reason` says why
};

typedef struct specverify_output {
  size_t struct_size;
  uint8_t action;
  uint8_t source;     // committed: 0 none, 1 residual, 2 bonus, 3 residual fallback, 4 forced
  uint8_t stop;       // specverify_stop
  uint8_t authority;  // 0: the cloud has verified or written the tokens; 1: the edge alone
  uint8_t replaces;
  uint32_t position;
  uint32_t rows;
  uint32_t accepted;
  const void* bytes;
  size_t bytes_size;
  const int32_t* tokens;
  size_t token_count;
  const uint64_t* positions;  // bit i % 64 of word i / 64 is draft i
  size_t position_words;
  specverify_status reason;
} specverify_output;

// What a session counted; the same names as session_statistics (docs/algorithms/statistics.md).
typedef struct specverify_statistics {
  size_t struct_size;
  uint64_t rounds, drafted, evaluated, accepted, emitted, skipped, written_ahead;
  uint64_t residual_tokens, bonus_tokens, residual_fallbacks, near_ties, mismatches, accepted_mismatches;
  uint64_t messages_up, messages_down, bytes_up, bytes_down, draft_bytes, supply_bytes;
  uint64_t handshakes, stale, corrupt, timeouts, refusals, restarts, fed_tokens, rollbacks;
} specverify_statistics;

// One round of an edge, its times by the host's clock; the same names as round_record.
typedef struct specverify_edge_round {
  size_t struct_size;
  uint32_t round;  // 0: none yet
  uint32_t resolution, drafted, accepted, emitted, skipped;
  uint64_t support_sum, draft_bytes, supply_bytes, feedback_bytes;
  uint64_t began, sent, answered;  // sent - began: drafting; answered - sent: the link and the cloud
} specverify_edge_round;

// One round of a cloud; the same names as decided_round.
typedef struct specverify_cloud_round {
  size_t struct_size;
  uint32_t round;  // 0: this process decided none yet
  uint32_t drafted, accepted;
  uint32_t mismatches, scored;  // wisv
  double accepted_score;
} specverify_cloud_round;

// The channel as an edge reports it with each draft (wisv).
typedef struct specverify_channel {
  float uplink_rate, downlink_rate;  // bit/s
  float uplink_loss, downlink_loss;  // packet error rates, [0, 1)
  float round_trip;                  // s
} specverify_channel;

// With a row, where the system wants it.
typedef struct specverify_extras {
  const float* hidden;  // wisv: the drafter's state behind the row
  size_t hidden_count;
  const float* attention;  // ui: the last layer's attention of the row's query, mean over heads
  size_t attention_count;
} specverify_extras;

// ---- What a host brings. Callbacks from `keep_from` on, and `reconnect`, may be null; another that is missing is
// null_span.

typedef int32_t specverify_feed(void* self, uint32_t position, const int32_t* tokens, size_t count, uint32_t rows);
typedef int32_t specverify_give_row(void* self, uint32_t index, specverify_row* given);
typedef int32_t specverify_move(void* self, uint32_t position);
typedef int32_t specverify_hear(void* self, const specverify_output* output);

typedef struct specverify_model {
  size_t struct_size;
  void* self;
  // The tokens are at `position` and on, 0 begins a new text; the rows of the last `rows` of them are wanted.
  specverify_feed* feed;
  // The wanted row `index`, from 0; it lives until the next feed. All rows of a feed have one kind of scalar.
  specverify_give_row* row;
  // Keeps that many positions.
  specverify_move* truncate;
  // From now on nothing is truncated below this position.
  specverify_move* keep_from;
  // Adds bias and mask of the host to the session's transform.
  int32_t (*transform)(void* self, uint32_t index, specverify_transform* changed);
  // Asked once a row; what it gives lives until the next feed.
  int32_t (*extras)(void* self, uint32_t index, specverify_extras* given);
  // wisv, cloud: a score in [0, 1] for each of the asked->rows drafts.
  int32_t (*scores)(void* self, const specverify_output* asked, double* scores);
} specverify_model;

// One without what is optional.
static inline specverify_model specverify_model_of(void* self, specverify_feed* feed, specverify_give_row* row,
                                                   specverify_move* truncate) {
  const specverify_model made = {sizeof made, self, feed, row, truncate, 0, 0, 0, 0};
  return made;
}

// Hears of every output but work for the engine and rollbacks: messages (of `drive`), journal, tokens, the end.
typedef struct specverify_observer {
  size_t struct_size;
  void* self;
  specverify_hear* on_output;
} specverify_observer;

static inline specverify_observer specverify_observer_of(void* self, specverify_hear* on_output) {
  const specverify_observer made = {sizeof made, self, on_output};
  return made;
}

#define SPECVERIFY_NO_DEADLINE UINT64_MAX

// A blocking transport: messages arrive whole, in order and each once, until the link is lost (TLS, a pipe). Time is in
// microseconds and never goes back.
typedef struct specverify_link {
  size_t struct_size;
  void* self;
  int32_t (*send)(void* self, const void* message, size_t size);
  // The next message, which lives until the next call; none (null) when `until` has passed. Not 0: the link is lost.
  int32_t (*receive)(void* self, uint64_t until, const void** message, size_t* size);
  uint64_t (*now)(void* self);
  // 0: the link is back; peer_timeout: `until` has passed; else it never will.
  int32_t (*reconnect)(void* self, uint64_t until);
} specverify_link;

// ---- The device

typedef struct specverify_edge specverify_edge;

// `memory`: null for the C++ heap. On an error *made is null and nothing is held.
SPECVERIFY_API specverify_status specverify_edge_create(const specverify_edge_options* options,
                                                        const specverify_system* system,
                                                        const specverify_allocator* memory, specverify_edge** made);
SPECVERIFY_API void specverify_edge_destroy(specverify_edge* edge);  // null: does nothing

// Level 3. A session that was started, restored or recovered writes its text.
SPECVERIFY_API specverify_status specverify_generate(specverify_edge* edge, const specverify_model* model,
                                                     const specverify_link* link, const specverify_observer* observer);
// Level 2. After each input: works until the peer is awaited or the session is over (see `..._state`).
SPECVERIFY_API specverify_status specverify_edge_drive(specverify_edge* edge, const specverify_model* model,
                                                       const specverify_observer* observer, uint64_t now);

// Inputs; as the members of that name of edge_session, which say their errors. busy: outputs wait.
SPECVERIFY_API specverify_status specverify_edge_start(specverify_edge* edge, const int32_t* prompt, size_t count,
                                                       uint64_t now);
// *kept: where the journal's last whole record ends; cut the file there before you append. May be null.
SPECVERIFY_API specverify_status specverify_edge_restore(specverify_edge* edge, const void* journal, size_t size,
                                                         uint64_t now, size_t* kept);
SPECVERIFY_API specverify_status specverify_edge_recover(specverify_edge* edge, uint32_t prompt_length, uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_receive(specverify_edge* edge, const void* message, size_t size,
                                                         uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_tick(specverify_edge* edge, uint64_t now);
// `transform`, `extras`: may be null: the session's, none.
SPECVERIFY_API specverify_status specverify_edge_supply_row(specverify_edge* edge, const specverify_row* row,
                                                            const specverify_transform* transform,
                                                            const specverify_extras* extras, uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_reconnect(specverify_edge* edge, uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_disconnect(specverify_edge* edge, uint64_t now);
// The host wants no more text: gives up what is open and tells the cloud. The session ends with SPECVERIFY_FINISHED,
// `stop` SPECVERIFY_STOP_CANCELLED, once the cloud has answered. `cause`: SPECVERIFY_STOP_CANCELLED or _FINISHED, else
// invalid_argument. unexpected_message: before the start. session_closed: it is over already.
SPECVERIFY_API specverify_status specverify_edge_stop(specverify_edge* edge, uint32_t cause, uint64_t now);
// Ends the session and gives `why` back. A number of the host's own reaches the peer as engine_failed.
SPECVERIFY_API specverify_status specverify_edge_engine_failed(specverify_edge* edge, specverify_status why);
SPECVERIFY_API specverify_status specverify_edge_report_channel(specverify_edge* edge,
                                                                const specverify_channel* channel);

// Level 1: the next output; its action is SPECVERIFY_NONE where there is none. Set output->struct_size first.
SPECVERIFY_API specverify_status specverify_edge_next(specverify_edge* edge, specverify_output* output);
// When `tick` has something to do; SPECVERIFY_NO_DEADLINE: never.
SPECVERIFY_API uint64_t specverify_edge_deadline(const specverify_edge* edge);
SPECVERIFY_API int specverify_edge_wants_rows(const specverify_edge* edge);
enum specverify_edge_state {
  SPECVERIFY_EDGE_IDLE = 0,
  SPECVERIFY_EDGE_FINISHED = 9,
  SPECVERIFY_EDGE_FAILED = 10  // others: at work
};
SPECVERIFY_API uint32_t specverify_edge_state(const specverify_edge* edge);
// Prompt and committed tokens; the first *prompt_length are the prompt (may be null).
SPECVERIFY_API const int32_t* specverify_edge_text(const specverify_edge* edge, size_t* count, size_t* prompt_length);
// The lowest position that the engine will still be cut to.
SPECVERIFY_API uint32_t specverify_edge_keep_from(const specverify_edge* edge);
// Set the struct_size of what is written first.
SPECVERIFY_API specverify_status specverify_edge_transform(const specverify_edge* edge, specverify_transform* written);
SPECVERIFY_API specverify_status specverify_edge_statistics(const specverify_edge* edge,
                                                            specverify_statistics* written);
// The last round that was answered.
SPECVERIFY_API specverify_status specverify_edge_last_round(const specverify_edge* edge,
                                                            specverify_edge_round* written);
// Why the cloud refused the session.
SPECVERIFY_API specverify_status specverify_edge_refusal(const specverify_edge* edge);

// ---- The cloud

typedef struct specverify_cloud specverify_cloud;

// `serves`: the system whose messages it must have room for; null: those of k-sqs and whatever fits.
SPECVERIFY_API specverify_status specverify_cloud_create(const specverify_cloud_options* options,
                                                         const specverify_system* serves,
                                                         const specverify_allocator* memory, specverify_cloud** made);
SPECVERIFY_API void specverify_cloud_destroy(specverify_cloud* cloud);

// Level 3: answers one edge until its text is complete. Level 2: as above.
SPECVERIFY_API specverify_status specverify_serve(specverify_cloud* cloud, const specverify_model* model,
                                                  const specverify_link* link, const specverify_observer* observer);
SPECVERIFY_API specverify_status specverify_cloud_drive(specverify_cloud* cloud, const specverify_model* model,
                                                        const specverify_observer* observer, uint64_t now);

SPECVERIFY_API specverify_status specverify_cloud_restore(specverify_cloud* cloud, const void* journal, size_t size,
                                                          size_t* kept);
SPECVERIFY_API specverify_status specverify_cloud_receive(specverify_cloud* cloud, const void* message, size_t size,
                                                          uint64_t now);
// One row for each that was wanted, all of one kind of scalar. `transforms`: one for each row; null: the session's.
SPECVERIFY_API specverify_status specverify_cloud_supply_rows(specverify_cloud* cloud, const specverify_row* rows,
                                                              size_t count, const specverify_transform* transforms,
                                                              uint64_t now);
SPECVERIFY_API specverify_status specverify_cloud_supply_scores(specverify_cloud* cloud, const double* scores,
                                                                size_t count, uint64_t now);
SPECVERIFY_API specverify_status specverify_cloud_engine_failed(specverify_cloud* cloud, specverify_status why);

SPECVERIFY_API specverify_status specverify_cloud_next(specverify_cloud* cloud, specverify_output* output);
SPECVERIFY_API int specverify_cloud_wants_rows(const specverify_cloud* cloud);
SPECVERIFY_API int specverify_cloud_wants_scores(const specverify_cloud* cloud);
enum specverify_cloud_state {
  SPECVERIFY_CLOUD_BLANK = 0,
  SPECVERIFY_CLOUD_FINISHED = 9,
  SPECVERIFY_CLOUD_FAILED = 10  // others: at work
};
SPECVERIFY_API uint32_t specverify_cloud_state(const specverify_cloud* cloud);
SPECVERIFY_API uint64_t specverify_cloud_session_id(const specverify_cloud* cloud);
SPECVERIFY_API const int32_t* specverify_cloud_text(const specverify_cloud* cloud, size_t* count,
                                                    size_t* prompt_length);
SPECVERIFY_API uint32_t specverify_cloud_keep_from(const specverify_cloud* cloud);
// Position of the open round's first draft: `scores` are of drafts from here on.
SPECVERIFY_API uint32_t specverify_cloud_draft_position(const specverify_cloud* cloud);
SPECVERIFY_API specverify_status specverify_cloud_transform(const specverify_cloud* cloud,
                                                            specverify_transform* written);
SPECVERIFY_API specverify_status specverify_cloud_statistics(const specverify_cloud* cloud,
                                                             specverify_statistics* written);
SPECVERIFY_API specverify_status specverify_cloud_last_round(const specverify_cloud* cloud,
                                                             specverify_cloud_round* written);
SPECVERIFY_API specverify_status specverify_cloud_refusal(const specverify_cloud* cloud);
SPECVERIFY_API specverify_channel specverify_cloud_reported_channel(const specverify_cloud* cloud);

// For a trial, both sides in one process: a started edge writes its text, messages go through memory. Outputs that wait
// at either side go first. `observer` hears the edge's outputs, and may be null. Messages on their way are on the C++
// heap, not in the sessions' allocators.
SPECVERIFY_API specverify_status specverify_run_pair(specverify_edge* edge, const specverify_model* drafter,
                                                     specverify_cloud* cloud, const specverify_model* target,
                                                     const specverify_observer* observer);

#ifdef __cplusplus
}
#endif

#endif
