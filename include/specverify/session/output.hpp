// SPDX-License-Identifier: Apache-2.0
//! What a session asks of its host: bytes to send and to journal, work for the engine, events. Taken one by one with
//! `next()`.
//!
//! Guarantees: trivially copyable; spans live until the next call of any member function of the session.
//! See:        docs/algorithms/output.md, docs/session.md, tests/unit/session/output_test.cpp, examples/docs/output.cpp
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

//! microseconds from an origin of the host's choice; never goes back within a session
using session_time = std::uint64_t;

enum class session_action : std::uint8_t {
  none,  //!< nothing left; the session waits for an input
  //! append `bytes` to the journal, durably, before the next output is taken; with `replaces` they are the whole
  //! journal, and a host that appends them like any others loses nothing but disk
  journal,
  send,       //!< send `bytes` as one message
  evaluate,   //!< feed `tokens` at `position`...; rows of the last `rows` of them are wanted
  rollback,   //!< cut the engine's cache to `position` tokens
  committed,  //!< `tokens` at `position`... are final; the first `accepted` of them are accepted drafts
  tentative,  //!< `tokens` at `position`... were drafted
  retracted,  //!< drafted tokens from `position` on are void
  //! cloud, semantic rule: `rows` drafts differ from the target's argmax, `positions` says which of the round, `bytes`
  //! holds their hidden vectors in ascending order as they travelled; answered by `supply_scores`
  score,
  //! the text is complete, and the other side has the same; `stop` says why. The cloud hears it from the edge: `stop`
  //! is none where that ended the text alone
  finished,
  failed  //!< the session is over; `reason` says why
};

//! Who has the last word on a position of the text.
enum class token_authority : std::uint8_t {
  cloud = 0,  //!< verified or written by the target
  edge = 1    //!< committed by the edge alone
};

struct session_output {
  session_action action = session_action::none;
  //! committed: where the last token comes from if it is no accepted draft
  token_source source = token_source::none;
  stop_reason stop = stop_reason::none;                //!< committed, finished
  token_authority authority = token_authority::cloud;  //!< committed, tentative
  bool replaces = false;                               //!< journal: what was written before is no longer needed
  std::uint32_t position = 0;
  std::uint32_t rows = 0;
  std::uint32_t accepted = 0;
  std::span<const std::byte> bytes{};
  std::span<const token_id> tokens{};
  std::span<const std::uint64_t> positions{};  //!< score: bit i % 64 of word i / 64 is draft i
  status reason{};
};

//! What an edge is about.
enum class edge_state : std::uint8_t {
  idle,
  offline,        //!< without a connection
  handshaking,    //!< hello is sent, and the cloud's is awaited
  sending_text,   //!< the cloud has less text
  fetching_text,  //!< the cloud has more text
  drafting,
  waiting,    //!< for a verdict
  streaming,  //!< the cloud writes alone
  stopping,   //!< the text is complete, and the cloud compares it with its own
  finished,
  failed
};

//! What a cloud is about.
enum class cloud_state : std::uint8_t {
  blank,
  filling,       //!< the edge has more text
  sending_text,  //!< the edge has less text
  ready,         //!< for a draft
  evaluating,
  scoring,
  requesting,
  streaming,
  closing,  //!< the text is complete, and the edge has to say that it has the same
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
