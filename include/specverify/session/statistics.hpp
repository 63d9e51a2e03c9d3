// SPDX-License-Identifier: Apache-2.0
//! Counts the events of a session and computes figures from the counters. You can add the counters of several sessions.
//!
//! Paper:      docs/algorithms/statistics.md lists the papers' names for counters and figures.
//! Symbols:    r = a round; L_r = drafts of round r; A_r = accepted drafts of round r.
//! Guarantees: trivially copyable. Merging adds counters, so the order does not matter. emitted = skipped + commit
//!             lengths of all verdicts; accepted <= evaluated <= drafted.
//! Deviates:   a ratio with denominator 0 returns 0.
//! Cost:       O(1), but O(drafts) for `count_drafts`; no allocation.
//! See:        docs/algorithms/statistics.md, docs/session/faults.md, tests/unit/session/statistics_test.cpp
#ifndef SPECVERIFY_SESSION_STATISTICS_HPP
#define SPECVERIFY_SESSION_STATISTICS_HPP

#include <specverify/config.hpp>
#include <specverify/cpp20.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! Number of draft positions with a separate counter; later positions share the last counter.
inline constexpr std::uint32_t statistics_positions = 32;

struct session_statistics {
  // the text
  std::uint64_t rounds = 0;   //!< decided rounds
  std::uint64_t drafted = 0;  //!< drafts of decided rounds
  //! drafts that were tested: the accepted drafts, and the first rejected draft of a round
  std::uint64_t evaluated = 0;
  std::uint64_t accepted = 0;  //!< drafts that were accepted
  std::uint64_t emitted = 0;   //!< committed tokens, prompt not included
  std::uint64_t skipped = 0;   //!< tokens that the edge committed without the cloud; included in `emitted`
  //! tokens that were skipped although they were uncertain (UI: because they are unimportant)
  std::uint64_t skipped_uncertain = 0;
  std::uint64_t written_ahead = 0;        //!< tokens shown while the link was lost, after the drafts of the open round
  std::uint64_t residual_tokens = 0;      //!< tokens emitted after a rejection
  std::uint64_t bonus_tokens = 0;         //!< tokens emitted after a fully accepted draft
  std::uint64_t residual_fallbacks = 0;   //!< draws from p, because the residual had no usable mass
  std::uint64_t budget_clamp = 0;         //!< drafts whose support the window's bit budget cut; counted by the edge
  std::uint64_t near_ties = 0;            //!< decisions inside the near-tie margin; counted by the cloud
  std::uint64_t mismatches = 0;           //!< mismatches that a scorer decided (semantic rule); counted by the cloud
  std::uint64_t accepted_mismatches = 0;  //!< mismatches that were accepted
  std::uint64_t accepted_scores = 0;      //!< sum of the accepted scores in units of 2^-32: exact in any order
  std::uint64_t largest_score = 0;        //!< the largest accepted score, in the same unit; merging takes the maximum
  std::uint64_t evaluated_at[statistics_positions] = {};
  std::uint64_t accepted_at[statistics_positions] = {};
  // messages; sizes include headers, but not the transport's framing
  std::uint64_t messages_up = 0;  //!< edge to cloud
  std::uint64_t messages_down = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::uint64_t draft_bytes = 0;   //!< bytes of draft messages, each draft once
  std::uint64_t supply_bytes = 0;  //!< bytes of supply messages (second uploads), each once
  // connections and faults
  std::uint64_t handshakes = 0;  //!< hellos that an edge sent, or that a cloud answered or refused
  std::uint64_t stale = 0;       //!< messages that arrived too late: sent before the handshake, or no longer useful
  std::uint64_t corrupt = 0;     //!< unreadable messages, and messages with a wrong check
  std::uint64_t timeouts = 0;    //!< deadlines that passed
  std::uint64_t refusals = 0;    //!< refuse messages sent
  std::uint64_t restarts = 0;    //!< restored journals, and restarts without a journal
  // the engine
  std::uint64_t fed_tokens = 0;  //!< tokens given to the engine
  std::uint64_t rollbacks = 0;

  friend SPECVERIFY_INLINE constexpr bool operator==(const session_statistics&,
                                                     const session_statistics&) noexcept = default;
};

//! Data of one round, with times in microseconds of the host's clock. OBS-3.
struct round_record {
  std::uint32_t round = 0;
  std::uint32_t resolution = 0;  //!< l of the distributions; 0 if they are not lattice points
  std::uint32_t drafted = 0;
  std::uint32_t accepted = 0;
  std::uint32_t emitted = 0;
  std::uint32_t skipped = 0;  //!< tokens skipped since the previous round; not in `emitted`
  std::uint32_t clamped = 0;  //!< drafts counted as `session_statistics::budget_clamp`
  //! sum of K over the drafts, where K is the number of tokens that the sparsifier kept; 0 if the format has no support
  std::uint64_t support_sum = 0;
  std::uint64_t draft_bytes = 0;
  std::uint64_t supply_bytes = 0;
  std::uint64_t feedback_bytes = 0;
  std::uint64_t began = 0;  //!< time when the row for the first draft was requested
  std::uint64_t sent = 0;   //!< time of the first send; the drafting time is sent - began
  //! time of the verdict; answered - sent is the time for uplink, verification and downlink
  std::uint64_t answered = 0;
};

//! Details of a round's verdict that only the cloud knows, for `mismatch_history::record`. OBS-3.
struct decided_round {
  std::uint32_t round = 0;    //!< 0: this process has not decided a round yet
  std::uint32_t drafted = 0;  //!< L
  std::uint32_t accepted = 0;
  //! M, semantic rule: drafts that differ from the target's argmax and that a scorer could decide, including drafts
  //! after a rejection
  std::uint32_t mismatches = 0;
  std::uint32_t scored = 0;   //!< mismatches up to and including the first rejected mismatch
  double accepted_score = 0;  //!< sum of the scores of the accepted mismatches
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Calls visit(name, counter) for every counter that can be added, except the per-position counters. The names are the
//! names of the struct's members; add a prefix for your metrics system.
template <class Statistics, class Visitor>
constexpr void for_each_counter(Statistics& s, Visitor&& visit) {
  visit("rounds", s.rounds);
  visit("drafted", s.drafted);
  visit("evaluated", s.evaluated);
  visit("accepted", s.accepted);
  visit("emitted", s.emitted);
  visit("skipped", s.skipped);
  visit("skipped_uncertain", s.skipped_uncertain);
  visit("written_ahead", s.written_ahead);
  visit("residual_tokens", s.residual_tokens);
  visit("bonus_tokens", s.bonus_tokens);
  visit("residual_fallbacks", s.residual_fallbacks);
  visit("budget_clamp", s.budget_clamp);
  visit("near_ties", s.near_ties);
  visit("mismatches", s.mismatches);
  visit("accepted_mismatches", s.accepted_mismatches);
  visit("accepted_scores", s.accepted_scores);
  visit("messages_up", s.messages_up);
  visit("messages_down", s.messages_down);
  visit("bytes_up", s.bytes_up);
  visit("bytes_down", s.bytes_down);
  visit("draft_bytes", s.draft_bytes);
  visit("supply_bytes", s.supply_bytes);
  visit("handshakes", s.handshakes);
  visit("stale", s.stale);
  visit("corrupt", s.corrupt);
  visit("timeouts", s.timeouts);
  visit("refusals", s.refusals);
  visit("restarts", s.restarts);
  visit("fed_tokens", s.fed_tokens);
  visit("rollbacks", s.rollbacks);
}

//! Adds every counter of `added` to `into`; the largest score becomes the maximum of both scores.
constexpr void merge(session_statistics& into, const session_statistics& added) noexcept {
  constexpr std::uint32_t capacity = 64;
  const std::uint64_t* from[capacity] = {};
  std::uint32_t count = 0;
  for_each_counter(added, [&](const char*, const std::uint64_t& counter) { from[count++] = &counter; });
  count = 0;
  for_each_counter(into, [&](const char*, std::uint64_t& counter) { counter += *from[count++]; });
  for (std::uint32_t i = 0; i < statistics_positions; ++i) {
    into.evaluated_at[i] += added.evaluated_at[i];
    into.accepted_at[i] += added.accepted_at[i];
  }
  if (added.largest_score > into.largest_score) into.largest_score = added.largest_score;
}

//! Converts a score, or a sum of scores, to the unit of the counters (2^-32), rounded to the nearest unit. `score` must
//! be in [0, 2^31].
[[nodiscard]] constexpr std::uint64_t score_units(double score) noexcept {
  return static_cast<std::uint64_t>(score * 4294967296.0 + 0.5);
}

//! Counts `drafted` drafts of one decided round: `evaluated` were tested, and the first `accepted` were accepted.
constexpr void count_drafts(session_statistics& s, std::uint32_t drafted, std::uint32_t evaluated,
                            std::uint32_t accepted) noexcept {
  s.rounds += 1;
  s.drafted += drafted;
  s.evaluated += evaluated;
  s.accepted += accepted;
  for (std::uint32_t i = 0; i < evaluated; ++i) {
    const std::uint32_t at = i < statistics_positions ? i : statistics_positions - 1;
    s.evaluated_at[at] += 1;
    s.accepted_at[at] += i < accepted ? 1u : 0u;
  }
}

namespace detail {
[[nodiscard]] constexpr double ratio(std::uint64_t numerator, std::uint64_t denominator) noexcept {
  return denominator == 0 ? 0.0 : static_cast<double>(numerator) / static_cast<double>(denominator);
}
}  // namespace detail

//! Returns accepted / evaluated: the probability that a tested draft is accepted.
[[nodiscard]] constexpr double acceptance_per_evaluated(const session_statistics& s) noexcept {
  return detail::ratio(s.accepted, s.evaluated);
}
//! Returns accepted / drafted: sum A_r / sum L_r, the global acceptance rate of WISV IV-C.
[[nodiscard]] constexpr double acceptance_per_drafted(const session_statistics& s) noexcept {
  return detail::ratio(s.accepted, s.drafted);
}
//! Returns the sum of the scores of accepted mismatches. If scores are calibrated, this is the expected number of
//! changes of meaning in the text. Counted by the cloud. COR-11.
[[nodiscard]] constexpr double spent_score(const session_statistics& s) noexcept {
  return static_cast<double>(s.accepted_scores) / 4294967296.0;
}
//! Returns the largest accepted score; 0 if no mismatch was accepted.
[[nodiscard]] constexpr double largest_spent_score(const session_statistics& s) noexcept {
  return static_cast<double>(s.largest_score) / 4294967296.0;
}
//! Returns the probability that a draft at position `position` (from 0) is accepted if it is tested.
[[nodiscard]] constexpr double acceptance_at(const session_statistics& s, std::uint32_t position) noexcept {
  return position < statistics_positions ? detail::ratio(s.accepted_at[position], s.evaluated_at[position]) : 0.0;
}
//! Returns accepted / rounds: the accepted length without the target's own token.
[[nodiscard]] constexpr double accepted_per_round(const session_statistics& s) noexcept {
  return detail::ratio(s.accepted, s.rounds);
}
//! Returns emitted / rounds: the accepted length with the target's own token (AAL in Table I of WISV, E27).
[[nodiscard]] constexpr double tokens_per_round(const session_statistics& s) noexcept {
  return detail::ratio(s.emitted, s.rounds);
}
//! Returns the uplink bits per committed token. All messages count, including headers and retries.
[[nodiscard]] constexpr double uplink_bits_per_token(const session_statistics& s) noexcept {
  return 8.0 * detail::ratio(s.bytes_up, s.emitted);
}
//! Returns bytes_up / accepted; 0 if no draft was accepted.
[[nodiscard]] constexpr double bytes_per_accepted_token(const session_statistics& s) noexcept {
  return detail::ratio(s.bytes_up, s.accepted);
}
SPECVERIFY_NAMESPACE_END

#endif
