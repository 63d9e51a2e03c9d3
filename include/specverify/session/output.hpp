// SPDX-License-Identifier: Apache-2.0
//! Outputs of a session: bytes for the host to send or to append to the journal, work for the engine, and events. The
//! session's `next()` returns the outputs one at a time.
//!
//! Guarantees: trivially copyable; spans are valid until the next call of any member function of the session.
//! See:        docs/algorithms/output.md, docs/session.md, tests/unit/session/output_test.cpp
#ifndef SPECVERIFY_SESSION_OUTPUT_HPP
#define SPECVERIFY_SESSION_OUTPUT_HPP

#include <specverify/core/views.hpp>
#include <specverify/cpp20.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! microseconds from an origin that the host chooses; must never go back within a session
using session_time = std::uint64_t;

enum class session_action : std::uint8_t {
  none,  //!< no output left; the session waits for an input
  //! append `bytes` to the journal, durably, before taking the next output. With `replaces` they are the whole journal;
  //! appending them is also correct, but takes more disk
  journal,
  send,       //!< send `bytes` as one message
  evaluate,   //!< feed `tokens` from `position` on; supply rows for the last `rows` tokens
  rollback,   //!< truncate the engine's cache to `position` tokens
  committed,  //!< `tokens` from `position` on are final; the first `accepted` are accepted drafts
  tentative,  //!< `tokens` from `position` on were drafted
  retracted,  //!< drafted tokens from `position` on are invalid
  //! cloud, semantic rule: `rows` drafts differ from the target's argmax. `positions` marks them within the round,
  //! `bytes` holds their hidden vectors in ascending order, as received. Call `supply_scores` with the scores
  score,
  //! the text is complete, and both sides have the same text. `stop` is the reason; at the cloud it is none if the edge
  //! ended the text without it
  finished,
  failed  //!< the session is over; `reason` has the error
};

//! The side that decided a position of the text.
enum class token_authority : std::uint8_t {
  cloud = 0,  //!< verified or written by the target
  edge = 1    //!< committed by the edge, so the cloud did not verify it
};

struct session_output {
  session_action action = session_action::none;
  //! committed: origin of the last token if it is not an accepted draft
  token_source source = token_source::none;
  stop_reason stop = stop_reason::none;                //!< committed, finished
  token_authority authority = token_authority::cloud;  //!< committed, tentative
  bool replaces = false;                               //!< journal: earlier records are no longer needed
  std::uint32_t position = 0;
  std::uint32_t rows = 0;
  std::uint32_t accepted = 0;
  std::span<const std::byte> bytes{};
  std::span<const token_id> tokens{};
  std::span<const std::uint64_t> positions{};  //!< score: bit i % 64 of word i / 64 is draft i
  status reason{};
};

//! States of an edge.
enum class edge_state : std::uint8_t {
  idle,
  offline,        //!< without a connection
  handshaking,    //!< hello is sent; waits for the cloud's hello
  sending_text,   //!< sends text that the cloud does not have
  fetching_text,  //!< receives text that only the cloud has
  drafting,
  waiting,    //!< waits for a verdict
  streaming,  //!< the cloud writes text without drafts
  stopping,   //!< the text is complete, and the cloud compares it with its own
  finished,
  failed
};

//! States of a cloud.
enum class cloud_state : std::uint8_t {
  blank,
  filling,       //!< receives text that only the edge has
  sending_text,  //!< sends text that the edge does not have
  ready,         //!< waits for a draft
  evaluating,
  scoring,
  requesting,
  streaming,
  closing,  //!< the text is complete; waits until the edge confirms it
  finished,
  failed
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! The name of an action, for logs.
[[nodiscard]] constexpr const char* name(session_action action) noexcept {
  constexpr const char* names[] = {"none",      "journal",   "send",  "evaluate", "rollback", "committed",
                                   "tentative", "retracted", "score", "finished", "failed"};
  const auto index = static_cast<std::size_t>(action);
  return index < std::size(names) ? names[index] : "unknown";
}

SPECVERIFY_NAMESPACE_END

#endif
