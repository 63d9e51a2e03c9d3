// SPDX-License-Identifier: Apache-2.0
//! Defines the verdict on the drafts of one round: the tokens to commit, and the cost of the decision.
//!
//! The tokens to commit are the first `accepted` drafts and then `next_token`, if there is one: `commit_length` in
//! total.
//! Paper:      arXiv 2507.00605, 2510.09942 (round protocol: T accepted drafts, then one token y).
//! Symbols:    T = accepted, y = next_token, L = number of drafts.
//! Guarantees: trivially copyable; the counters are those of one round, never sums over rounds. Requirements COR-7,
//!             COR-13, PKG-11.
//! Deviates:   if a stop token or the budget ends a round before y is drawn, there is no next token.
//! Cost:       O(stop_tokens); no allocation.
//! See:        docs/algorithms/verdict.md, tests/unit/verify/verdict_test.cpp
#ifndef SPECVERIFY_VERIFY_VERDICT_HPP
#define SPECVERIFY_VERIFY_VERDICT_HPP

#include <specverify/core/views.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

#if __cplusplus >= 202002L
#include <span>
#endif

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

enum class verdict_outcome : std::uint8_t {
  decided,  //!< the tokens to commit are known
  //! the rule cannot decide without more scores (a second upload). Commit nothing yet; the first `accepted` drafts are
  //! accepted so far
  needs,
  //! the draft with index `accepted` is rejected, but carries no distribution; a host that has the distribution can
  //! draw the next token from the residual
  deferred
};

//! Origin of `next_token`.
enum class token_source : std::uint8_t {
  none,               //!< there is no next token, for example because of a stop token or the budget
  residual,           //!< the residual after a rejection; greedy and semantic rule: argmax; coupled rule: race
  bonus,              //!< the target's distribution after the last accepted draft
  residual_fallback,  //!< the target's distribution, because the residual's mass is below 1e-12
  forced              //!< as if there were no draft, because the caller rejected the draft
};

//! Reasons to end the text after this round.
enum class stop_reason : std::uint8_t {
  none,
  stop_token,
  budget,
  cancelled  //!< the edge's host ended the text; only in sessions, never in a verdict
};

//! Costs and special events of one verdict.
struct verdict_counters {
  std::uint32_t drafted = 0;    //!< number of drafts before the first id -1
  std::uint32_t evaluated = 0;  //!< drafts tested against the target; at most one of them is rejected
  std::uint32_t accepted = 0;   //!< drafts accepted
  //! decisions within a relative margin of 2^-20, which can differ on another backend
  std::uint32_t near_ties = 0;
  std::uint32_t residual_fallbacks = 0;  //!< residuals with a mass below 1e-12
  std::uint32_t residual_trials = 0;     //!< proposals of the residual draw
  std::uint32_t exact_normalisers = 0;   //!< rows whose exact normalizer was computed
  std::uint32_t forced_rejects = 0;      //!< drafts rejected because of `forced_rejects`
  //! number of drafts that were reached and have an id outside the target's vocabulary; they are rejected, and the id
  //! is never used as an index
  std::uint32_t invalid_tokens = 0;
  std::uint32_t mismatches = 0;           //!< semantic rule: scored drafts, which differ from the target's argmax
  std::uint32_t accepted_mismatches = 0;  //!< semantic rule: scored drafts that were accepted
  //! semantic rule: sum of the accepted scores, an estimate of the meaning lost in this round. COR-11
  double accepted_score = 0;
  double largest_accepted_score = 0;  //!< semantic rule: largest accepted score, below the threshold
};

struct verdict {
  verdict_outcome outcome = verdict_outcome::decided;
  token_source source = token_source::none;
  stop_reason stop = stop_reason::none;
  std::uint32_t accepted = 0;       //!< T: number of accepted drafts
  token_id next_token = no_token;   //!< y, or -1
  std::uint32_t commit_length = 0;  //!< tokens to commit: T, plus 1 if there is a next token; 0 for `needs`
  verdict_counters counters{};
};

inline constexpr std::uint32_t no_budget = std::numeric_limits<std::uint32_t>::max();  //!< no limit

//! Limits that can end a round early.
struct round_limits {
  const token_id* stop_tokens = nullptr;
  std::size_t stop_count = 0;
  std::uint32_t remaining_budget = no_budget;  //!< tokens that may still be committed
  bool bonus = true;                           //!< whether a token follows if all drafts are accepted
};

#if __cplusplus >= 202002L
//! The caller's settings for a round, apart from the uniforms. All spans may be empty.
struct verify_request {
  std::span<const token_id> stop_tokens{};
  std::uint32_t remaining_budget = no_budget;  //!< tokens that may still be committed
  //! whether a token follows if all drafts are accepted; without drafts, a token always follows
  bool bonus = true;
  //! indexed by draft, or empty; if the entry is not zero, the draft is rejected, and the token is chosen as if there
  //! were no draft
  std::span<const std::uint8_t> forced_rejects{};
  //! output with at least L + 1 entries, or empty: ln p of every committed token under the target's distribution
  std::span<double> log_probabilities{};
  //! output indexed by row, with at least L + 1 entries, or empty: an entry becomes ok, the row's error, or not_read if
  //! the round ended before the row
  std::span<status> row_states{};
};
#endif  // C++20

SPECVERIFY_TYPES_END
#if __cplusplus >= 202002L
SPECVERIFY_NAMESPACE_BEGIN

//! Returns whether a token ends the text. O(stop_tokens).
[[nodiscard]] constexpr bool is_stop(std::span<const token_id> stop_tokens, token_id token) noexcept {
  for (const token_id stop : stop_tokens) {
    if (stop == token) return true;
  }
  return false;
}

SPECVERIFY_NAMESPACE_END
#endif  // C++20
#include <specverify/core/foreign_macros_on.def>

#endif
