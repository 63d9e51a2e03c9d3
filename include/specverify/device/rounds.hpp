// SPDX-License-Identifier: Apache-2.0
//! Describes a batch of rounds in device memory: the drafts of many requests, target rows, limits and verdicts. Rounds
//! may have different lengths.
//!
//! Use it to verify all requests of an engine's step: fill one `device_rounds`, and call `verify_batch` once. Round i
//! has the drafts draft_begin[i] to draft_begin[i + 1] - 1 and the rows row_begin[i] to row_begin[i + 1] - 1. An id -1
//! ends the drafts early. L drafts need at most L + 1 rows.
//! Guarantees: plain structs, C++17. All pointers are to device memory. Kernels read them when they run, so a captured
//!             graph uses the rounds at replay. An error in one round does not affect other rounds.
//! Deviates:   unlike the verification on the CPU, it returns no log-probabilities. If a row offset is beyond the rows,
//!             the round returns size_mismatch, but offsets of drafts are not checked.
//! Cost:       O(1); no allocation.
//! See:        docs/algorithms/cuda.md, verify/verdict.hpp, tests/device/verify_test.cpp
#ifndef SPECVERIFY_DEVICE_ROUNDS_HPP
#define SPECVERIFY_DEVICE_ROUNDS_HPP

#include <specverify/device/batch.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! A drafted token, with or without a distribution. With a distribution, it corresponds to `draft` and `received_draft`
//! on the CPU, and the token must have been drawn from the distribution. Without one, it corresponds to
//! `claimed_draft`: a point mass if the count is 0, otherwise a claim.
struct device_draft {
  token_id token = no_token;     //!< -1 ends the drafts of the round
  std::uint32_t count = 0;       //!< count of a claim
  std::uint32_t resolution = 0;  //!< resolution of a claim
  law source{};                  //!< arrays must be in device memory; vocab_size 0: no distribution
};

//! Rounds to verify together.
template <class Scalar>
struct device_rounds {
  device_rows<Scalar> rows{};                        //!< rows of all rounds
  device_transform transform{};                      //!< transform of all rows
  std::uint32_t count = 0;                           //!< rounds
  const device_draft* drafts = nullptr;              //!< drafts of all rounds
  const std::uint32_t* draft_begin = nullptr;        //!< count + 1 offsets into drafts
  const std::uint32_t* row_begin = nullptr;          //!< count + 1 offsets into rows; null: draft_begin[i] + i
  const std::uint32_t* remaining_budgets = nullptr;  //!< tokens that a round may still commit; null: no limit
  const token_id* stop_tokens = nullptr;
  const std::uint32_t* stop_begin = nullptr;     //!< count + 1 offsets into stop_tokens; null: one list for all
  std::uint32_t stop_count = 0;                  //!< size of the list, if there is one list for all
  const std::uint8_t* forced_rejects = nullptr;  //!< indexed by draft; not zero: reject it and draw from the target
  bool bonus = true;                             //!< whether a token follows if all drafts are accepted

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t first_row(std::uint32_t round) const noexcept {
    return row_begin == nullptr ? draft_begin[round] + round : row_begin[round];
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE round_limits limits(std::uint32_t round) const noexcept {
    round_limits found;
    found.bonus = bonus;
    if (remaining_budgets != nullptr) found.remaining_budget = remaining_budgets[round];
    const std::uint32_t first = stop_begin == nullptr ? 0 : stop_begin[round];
    found.stop_tokens = stop_tokens + first;
    found.stop_count = stop_begin == nullptr ? stop_count : stop_begin[round + 1] - first;
    return found;
  }
};

//! Verdict of a rule on one round. It is valid only if `why` is ok.
struct device_verdict {
  //! the errors of the rule on the CPU, under part::verify, `where` = row of the round: errors of that row,
  //! invalid_resolution (a claim); too_few_rows (`where` = number of rows), size_mismatch (offsets)
  status why{};
  verdict decided{};
};

//! Destination of the verdicts of a batch.
struct device_verdicts {
  device_verdict* rounds = nullptr;  //!< indexed by round
  //! null, or indexed by row: ok, the row's error, or not_read after the end of the round; `where` = row within the
  //! round
  status* row_states = nullptr;
};

//! Token-level verification (verify/token.hpp).
struct device_token_rule {
  std::uint32_t trial_cap = 32;  //!< proposals per draw before the exact rule
};
//! Greedy verification (verify/greedy.hpp).
struct device_greedy_rule {};

namespace device_detail {

//! Returns the rows of a batch with one digest per round, for the row under test.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr device_rows<Scalar> row_a_round(
    const device_rounds<Scalar>& rounds) noexcept {
  device_rows<Scalar> rows = rounds.rows;
  rows.count = rounds.count;
  return rows;
}

//! Checks rounds without reading them.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check(const device_rounds<Scalar>& rounds) noexcept {
  if (const status why = check(rounds.rows, rounds.transform); !why.ok()) return why;
  if (rounds.count == 0) return {errc::size_mismatch, part::verify, 0};
  const bool stops = rounds.stop_begin != nullptr || rounds.stop_count != 0;
  if (rounds.drafts == nullptr || rounds.draft_begin == nullptr || (stops && rounds.stop_tokens == nullptr))
    return {errc::null_span, part::verify, 0};
  return {};
}

}  // namespace device_detail

//! Returns the number of bytes of device memory that `verify_batch` needs for rounds under a rule that draws: one
//! digest per round. The contents are useless afterwards. Pure; O(1).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr std::size_t verify_memory_size(const device_rounds<Scalar>& rounds) noexcept {
  return device_batch_size(device_detail::row_a_round(rounds), rounds.transform);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
