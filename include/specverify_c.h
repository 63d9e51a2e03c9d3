// SPDX-License-Identifier: Apache-2.0
// Declares the sessions of specverify for C11 and C++17 hosts: a device drafts tokens, and a cloud verifies them. For
// rounds without a session, use specverify_c_core.h. docs/c.md is a guide with an example.
//
// Options   Get a struct from `..._defaults()` and change the fields that you need. The library reads arrays in the
//           struct only during `..._create`, but tables of id weights must outlive the session. If an array is not
//           aligned for its elements, the call returns misaligned.
// Versions  A struct begins with its size. If the program is older than the library, missing fields get their defaults.
//           If the program is newer, fields that the library does not know must be zero; otherwise the call returns
//           unknown_option (`where` = offset of the first nonzero byte). If the size is impossible, for example 0 or
//           one that ends inside a member, the call returns struct_size_wrong.
// Errors    Functions that can fail return a status. Its code is a number of specverify/core/errc.def, or a number that
//           a callback returned. No function throws.
// Callbacks A callback must return 0 on success, otherwise a specverify_errc_* or your own number, 1000 to 65535. A
//           nonzero number from a model ends the session and the call. A nonzero number from an observer ends the call.
//           For a link, see specverify_link. A number outside 0 to 65535 becomes engine_failed, with the number in
//           `where`. A callback must not throw, call longjmp, destroy the session, or call an input of the same
//           session.
// Memory    A session allocates all memory when it is created, and frees it when it is destroyed.
// Threads   Only one thread at a time may use a session. Any number of sessions can run at once.
// Pointers  Pointers in an output, and the pointer that `..._text` returns, are valid until the session's next call.
#ifndef SPECVERIFY_C_H
#define SPECVERIFY_C_H

#include <specverify_c_base.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Actions that a session requests from its host

enum specverify_action {
  SPECVERIFY_NONE = 0,       // no output is left; the session waits for an input
  SPECVERIFY_JOURNAL = 1,    // append `bytes` to the journal durably; if `replaces`, they are the whole journal
  SPECVERIFY_SEND = 2,       // send `bytes` as one message
  SPECVERIFY_EVALUATE = 3,   // feed `tokens` at `position`; supply rows for the last `rows` of them
  SPECVERIFY_ROLLBACK = 4,   // truncate the engine's cache to `position` tokens
  SPECVERIFY_COMMITTED = 5,  // `tokens` at `position` are final; the first `accepted` of them are accepted drafts
  SPECVERIFY_TENTATIVE = 6,  // `tokens` at `position` are drafts and may be retracted
  SPECVERIFY_RETRACTED = 7,  // drafted tokens starting at `position` are invalid
  SPECVERIFY_SCORE = 8,      // wisv, cloud: score `rows` drafts: `positions` marks them, `bytes` has their vectors
  SPECVERIFY_FINISHED = 9,   // the text is complete; see `stop`
  SPECVERIFY_FAILED = 10     // the session is over; see `reason`
};

typedef struct specverify_output {
  size_t struct_size;
  uint8_t action;
  uint8_t source;     // committed: 0 none, 1 residual, 2 bonus, 3 residual fallback, 4 forced
  uint8_t stop;       // specverify_stop
  uint8_t authority;  // 0: the cloud verified or generated the tokens; 1: the edge committed them on its own
  uint8_t replaces;
  uint32_t position;
  uint32_t rows;
  uint32_t accepted;
  const void* bytes;
  size_t bytes_size;
  const int32_t* tokens;
  size_t token_count;
  const uint64_t* positions;  // draft i is bit i % 64 of word i / 64
  size_t position_words;
  specverify_status reason;
} specverify_output;

// Counters of a session. Members are named as in session_statistics (C++; docs/algorithms/statistics.md).
typedef struct specverify_statistics {
  size_t struct_size;
  uint64_t rounds, drafted, evaluated, accepted, emitted, skipped, written_ahead;
  uint64_t residual_tokens, bonus_tokens, residual_fallbacks, near_ties, mismatches, accepted_mismatches;
  uint64_t messages_up, messages_down, bytes_up, bytes_down, draft_bytes, supply_bytes;
  uint64_t handshakes, stale, corrupt, timeouts, refusals, restarts, fed_tokens, rollbacks;
} specverify_statistics;

// Statistics of one round of an edge. Members are named as in round_record (C++). Times are from the host's clock.
typedef struct specverify_edge_round {
  size_t struct_size;
  uint32_t round;  // 0: no round yet
  uint32_t resolution, drafted, accepted, emitted, skipped;
  uint64_t support_sum, draft_bytes, supply_bytes, feedback_bytes;
  uint64_t began, sent, answered;  // sent - began: drafting; answered - sent: link and cloud
} specverify_edge_round;

// Statistics of one round of a cloud. Members are named as in decided_round (C++).
typedef struct specverify_cloud_round {
  size_t struct_size;
  uint32_t round;  // 0: this process has decided no round yet
  uint32_t drafted, accepted;
  uint32_t mismatches, scored;  // wisv
  double accepted_score;
} specverify_cloud_round;

// Channel that an edge reports with each draft message (wisv).
typedef struct specverify_channel {
  float uplink_rate, downlink_rate;  // bit/s
  float uplink_loss, downlink_loss;  // packet error rates, [0, 1)
  float round_trip;                  // s
} specverify_channel;

// Data that some methods need in addition to a row.
typedef struct specverify_extras {
  const float* hidden;  // wisv: the drafter's hidden state of the row
  size_t hidden_count;
  const float* attention;  // ui: attention of the row's query in the last layer, mean over heads
  size_t attention_count;
} specverify_extras;

// Callbacks of a host. In a model, `keep_from` and the callbacks after it may be null; in the cloud, `row` may be null
// if `token` is not. `reconnect` and `on_output` may be null. Any other null callback makes the call return null_span.

typedef int32_t specverify_feed(void* self, uint32_t position, const int32_t* tokens, size_t count, uint32_t rows);
typedef int32_t specverify_give_token(void* self, uint32_t index, int32_t* given);
typedef int32_t specverify_give_row(void* self, uint32_t index, specverify_row* given);
typedef int32_t specverify_move(void* self, uint32_t position);
typedef int32_t specverify_hear(void* self, const specverify_output* output);

typedef struct specverify_model {
  size_t struct_size;
  void* self;
  // Feeds tokens starting at `position`; position 0 begins a new text. The caller needs the rows of the last `rows`
  // tokens.
  specverify_feed* feed;
  // Returns row `index`, from 0. The row must stay valid until the next feed. All rows of a feed must have one scalar
  // type.
  specverify_give_row* row;
  // Truncates the model to the first `position` positions.
  specverify_move* truncate;
  // Tells the model that no later truncation goes below this position.
  specverify_move* keep_from;
  // Adds the host's bias and mask to `changed`, which is the session's transform.
  int32_t (*transform)(void* self, uint32_t index, specverify_transform* changed);
  // Writes the data for row `index`. Called once per row. The data must stay valid until the next feed.
  int32_t (*extras)(void* self, uint32_t index, specverify_extras* given);
  // wisv, cloud: writes a score in [0, 1] for each of the asked->rows drafts.
  int32_t (*scores)(void* self, const specverify_output* asked, double* scores);
  // greedy and shared-noise, cloud: writes the token that the engine samples in place of row `index`. Called if `row`
  // is null.
  specverify_give_token* token;
} specverify_model;

// Returns a model without the optional callbacks.
static inline specverify_model specverify_model_of(void* self, specverify_feed* feed, specverify_give_row* row,
                                                   specverify_move* truncate) {
  const specverify_model made = {sizeof made, self, feed, row, truncate, 0, 0, 0, 0, 0};
  return made;
}

// Receives every output except work for the engine and rollbacks: messages, journal records, tokens, the end.
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

// A blocking transport such as TLS or a pipe. Until the link is lost, messages must arrive whole, in order and once.
// Time is in microseconds and must never decrease.
typedef struct specverify_link {
  size_t struct_size;
  void* self;
  int32_t (*send)(void* self, const void* message, size_t size);
  // Writes the next message, which must stay valid until the next call, or null if `until` has passed. A result other
  // than 0 means that the link is lost.
  int32_t (*receive)(void* self, uint64_t until, const void** message, size_t* size);
  uint64_t (*now)(void* self);
  // Returns 0 if the link is back, peer_timeout if `until` has passed, and another number if the link is lost for good.
  int32_t (*reconnect)(void* self, uint64_t until);
} specverify_link;

// ---- The device

typedef struct specverify_edge specverify_edge;

// `memory` may be null for the C++ heap. On an error *made is null and nothing is allocated.
SPECVERIFY_API specverify_status specverify_edge_create(const specverify_edge_options* options,
                                                        const specverify_system* system,
                                                        const specverify_allocator* memory, specverify_edge** made);
SPECVERIFY_API void specverify_edge_destroy(specverify_edge* edge);  // null: does nothing

// Level 3 (docs/c.md lists the levels): generates the text of a session that was started, restored or recovered.
SPECVERIFY_API specverify_status specverify_generate(specverify_edge* edge, const specverify_model* model,
                                                     const specverify_link* link, const specverify_observer* observer);
// Level 2: call it after each input. It works until the session waits for the peer or is over (see `..._state`).
SPECVERIFY_API specverify_status specverify_edge_drive(specverify_edge* edge, const specverify_model* model,
                                                       const specverify_observer* observer, uint64_t now);

// Inputs, with the errors of the edge_session member of the same name. busy: take the waiting outputs first.
SPECVERIFY_API specverify_status specverify_edge_start(specverify_edge* edge, const int32_t* prompt, size_t count,
                                                       uint64_t now);
// *kept: end of the last whole record in the journal; truncate the file there before you append. `kept` may be null.
SPECVERIFY_API specverify_status specverify_edge_restore(specverify_edge* edge, const void* journal, size_t size,
                                                         uint64_t now, size_t* kept);
SPECVERIFY_API specverify_status specverify_edge_recover(specverify_edge* edge, uint32_t prompt_length, uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_receive(specverify_edge* edge, const void* message, size_t size,
                                                         uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_tick(specverify_edge* edge, uint64_t now);
// `transform` may be null for the session's transform, `extras` for none.
SPECVERIFY_API specverify_status specverify_edge_supply_row(specverify_edge* edge, const specverify_row* row,
                                                            const specverify_transform* transform,
                                                            const specverify_extras* extras, uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_reconnect(specverify_edge* edge, uint64_t now);
SPECVERIFY_API specverify_status specverify_edge_disconnect(specverify_edge* edge, uint64_t now);
// Ends the text because the host needs no more tokens. The edge drops the open draft, tells the cloud the cause, and
// after the response ends with SPECVERIFY_FINISHED and `stop` SPECVERIFY_STOP_CANCELLED. `cause` must be
// SPECVERIFY_STOP_CANCELLED or _FINISHED. Errors: busy, invalid_argument (any other cause), unexpected_message (before
// the start), session_closed (already over).
SPECVERIFY_API specverify_status specverify_edge_stop(specverify_edge* edge, uint32_t cause, uint64_t now);
// Ends the session and returns `why`. A number of the host's own is sent to the peer as engine_failed.
SPECVERIFY_API specverify_status specverify_edge_engine_failed(specverify_edge* edge, specverify_status why);
SPECVERIFY_API specverify_status specverify_edge_report_channel(specverify_edge* edge,
                                                                const specverify_channel* channel);

// Level 1: returns the next output, with the action SPECVERIFY_NONE if there is none. Set output->struct_size first.
SPECVERIFY_API specverify_status specverify_edge_next(specverify_edge* edge, specverify_output* output);
// Returns the time of the next necessary `tick`, or SPECVERIFY_NO_DEADLINE.
SPECVERIFY_API uint64_t specverify_edge_deadline(const specverify_edge* edge);
SPECVERIFY_API int specverify_edge_wants_rows(const specverify_edge* edge);
enum specverify_edge_state {
  SPECVERIFY_EDGE_IDLE = 0,
  SPECVERIFY_EDGE_FINISHED = 9,
  SPECVERIFY_EDGE_FAILED = 10  // other values: working
};
SPECVERIFY_API uint32_t specverify_edge_state(const specverify_edge* edge);
// Returns the prompt and the committed tokens. The first *prompt_length tokens are the prompt. `count` and
// `prompt_length` may be null.
SPECVERIFY_API const int32_t* specverify_edge_text(const specverify_edge* edge, size_t* count, size_t* prompt_length);
// Returns the lowest position that the engine may still have to truncate to.
SPECVERIFY_API uint32_t specverify_edge_keep_from(const specverify_edge* edge);
// Code of the ids in drafts.
enum specverify_id_code {
  SPECVERIFY_ID_CODE_PLAIN = 0,
  SPECVERIFY_ID_CODE_PRIOR = 1,  // by the table that both sides have (specverify_prior)
  SPECVERIFY_ID_CODE_NOISE = 2   // by the table and the shared noise
};
// Returns the code of drafted ids that the last handshake agreed on; SPECVERIFY_ID_CODE_PLAIN before the first one.
SPECVERIFY_API uint32_t specverify_edge_agreed_id_code(const specverify_edge* edge);
// In this and the following functions, set the struct_size of `written` first.
SPECVERIFY_API specverify_status specverify_edge_transform(const specverify_edge* edge, specverify_transform* written);
SPECVERIFY_API specverify_status specverify_edge_statistics(const specverify_edge* edge,
                                                            specverify_statistics* written);
// Writes the last round that the cloud decided.
SPECVERIFY_API specverify_status specverify_edge_last_round(const specverify_edge* edge,
                                                            specverify_edge_round* written);
// Returns the reason why the cloud refused the session; ok if it did not.
SPECVERIFY_API specverify_status specverify_edge_refusal(const specverify_edge* edge);

// ---- The cloud

typedef struct specverify_cloud specverify_cloud;

// `serves` is the system whose messages must have room in the session. null selects the default limits, which are
// enough for k-sqs, greedy and shared-noise with default settings.
SPECVERIFY_API specverify_status specverify_cloud_create(const specverify_cloud_options* options,
                                                         const specverify_system* serves,
                                                         const specverify_allocator* memory, specverify_cloud** made);
SPECVERIFY_API void specverify_cloud_destroy(specverify_cloud* cloud);

// Level 3: serves one edge until the edge reports the end of the text. Level 2: see specverify_edge_drive.
SPECVERIFY_API specverify_status specverify_serve(specverify_cloud* cloud, const specverify_model* model,
                                                  const specverify_link* link, const specverify_observer* observer);
SPECVERIFY_API specverify_status specverify_cloud_drive(specverify_cloud* cloud, const specverify_model* model,
                                                        const specverify_observer* observer, uint64_t now);

SPECVERIFY_API specverify_status specverify_cloud_restore(specverify_cloud* cloud, const void* journal, size_t size,
                                                          size_t* kept);
SPECVERIFY_API specverify_status specverify_cloud_receive(specverify_cloud* cloud, const void* message, size_t size,
                                                          uint64_t now);
// Supplies all rows that were requested, with one scalar type. `transforms` has one transform per row; null: the
// session's transform.
SPECVERIFY_API specverify_status specverify_cloud_supply_rows(specverify_cloud* cloud, const specverify_row* rows,
                                                              size_t count, const specverify_transform* transforms,
                                                              uint64_t now);
// greedy and shared-noise: supplies the token that the engine samples in place of each row. After rows_required (a
// different method), size_mismatch or token_out_of_range the session still waits for rows or tokens.
SPECVERIFY_API specverify_status specverify_cloud_supply_tokens(specverify_cloud* cloud, const int32_t* tokens,
                                                                size_t count, uint64_t now);
SPECVERIFY_API specverify_status specverify_cloud_supply_scores(specverify_cloud* cloud, const double* scores,
                                                                size_t count, uint64_t now);
SPECVERIFY_API specverify_status specverify_cloud_engine_failed(specverify_cloud* cloud, specverify_status why);

SPECVERIFY_API specverify_status specverify_cloud_next(specverify_cloud* cloud, specverify_output* output);
SPECVERIFY_API int specverify_cloud_wants_rows(const specverify_cloud* cloud);
// Returns the key of the session's shared noise (shared-noise), or 0. An engine that samples by itself must draw with
// this key: at each position, the token that wins the race with the noise of the position (row/race.hpp).
SPECVERIFY_API uint64_t specverify_cloud_noise_key(const specverify_cloud* cloud);
// Returns the kind of the session's shared noise, as in `noise` of the cloud's options: the kind that the edge
// requests. 0: the session has no shared noise.
SPECVERIFY_API uint32_t specverify_cloud_noise_kind(const specverify_cloud* cloud);
// See specverify_edge_agreed_id_code.
SPECVERIFY_API uint32_t specverify_cloud_agreed_id_code(const specverify_cloud* cloud);
SPECVERIFY_API int specverify_cloud_wants_scores(const specverify_cloud* cloud);
enum specverify_cloud_state {
  SPECVERIFY_CLOUD_BLANK = 0,
  SPECVERIFY_CLOUD_FINISHED = 9,
  SPECVERIFY_CLOUD_FAILED = 10  // other values: working
};
SPECVERIFY_API uint32_t specverify_cloud_state(const specverify_cloud* cloud);
SPECVERIFY_API uint64_t specverify_cloud_session_id(const specverify_cloud* cloud);
SPECVERIFY_API const int32_t* specverify_cloud_text(const specverify_cloud* cloud, size_t* count,
                                                    size_t* prompt_length);
SPECVERIFY_API uint32_t specverify_cloud_keep_from(const specverify_cloud* cloud);
// Returns the position of the open round's first draft, which is draft 0 in `positions` of an output.
SPECVERIFY_API uint32_t specverify_cloud_draft_position(const specverify_cloud* cloud);
SPECVERIFY_API specverify_status specverify_cloud_transform(const specverify_cloud* cloud,
                                                            specverify_transform* written);
SPECVERIFY_API specverify_status specverify_cloud_statistics(const specverify_cloud* cloud,
                                                             specverify_statistics* written);
SPECVERIFY_API specverify_status specverify_cloud_last_round(const specverify_cloud* cloud,
                                                             specverify_cloud_round* written);
SPECVERIFY_API specverify_status specverify_cloud_refusal(const specverify_cloud* cloud);
SPECVERIFY_API specverify_channel specverify_cloud_reported_channel(const specverify_cloud* cloud);

// Runs both sides in one process, for a trial. If the edge is started, it generates its text. Messages go through
// memory. Waiting outputs of both sides are handled first. `observer` receives the edge's outputs and may be null.
// Messages in flight are on the C++ heap, not in memory from the sessions' allocators.
SPECVERIFY_API specverify_status specverify_run_pair(specverify_edge* edge, const specverify_model* drafter,
                                                     specverify_cloud* cloud, const specverify_model* target,
                                                     const specverify_observer* observer);

#ifdef __cplusplus
}
#endif

#endif
