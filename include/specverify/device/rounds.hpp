// SPDX-License-Identifier: Apache-2.0
//! A ragged batch of rounds in device memory: the drafts of many requests, the rows that they are verified against,
//! what may end each of them, and the verdicts.
//!
//! Use it to verify all requests of an engine's step at once: one `device_rounds`, one call of `verify_batch`.
//! Symbols:    round i has drafts draft_begin[i] .. draft_begin[i + 1] - 1, L of them up to the first id -1, and the
//!             rows row_begin[i] .. row_begin[i + 1] - 1, of which it needs L + 1 at most.
//! Guarantees: plain structs, C++17. All pointers are to device memory and are followed when kernels run, so that a
//!             captured graph sees the rounds of its replay. A round in error says so in its verdict; the others do not
//!             notice. Where a round stands in its batch does not matter.
//! Deviates:   no log-probabilities. Offsets beyond the rows are size_mismatch; those of drafts cannot be checked.
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

//! A token with what it was drawn from. With a law it is what `draft` and `received_draft` are on the host, and the law
//! must be the one that it was drawn from. Without one it is a `claimed_draft`: count 0 a point mass, else a claim.
struct device_draft {
  token_id token = no_token;     //!< -1 ends the drafts of its round
  std::uint32_t count = 0;       //!< of a claim
  std::uint32_t resolution = 0;  //!< of a claim
  law source{};                  //!< its arrays lie in device memory; vocab_size 0: no law
};

//! Rounds that are verified together.
template <class Scalar>
struct device_rounds {
  device_rows<Scalar> rows{};                  //!< of all rounds
  device_transform transform{};                //!< of all rows
  std::uint32_t count = 0;                     //!< rounds
  const device_draft* drafts = nullptr;        //!< of all rounds
  const std::uint32_t* draft_begin = nullptr;  //!< count + 1
  const std::uint32_t* row_begin = nullptr;    //!< count + 1; null: a row a draft and one more, draft_begin[i] + i
  const std::uint32_t* remaining_budgets = nullptr;  //!< tokens that a round may still commit; null: no limit
  const token_id* stop_tokens = nullptr;
  const std::uint32_t* stop_begin = nullptr;     //!< count + 1 offsets into stop_tokens; null: one list for all
  std::uint32_t stop_count = 0;                  //!< of that one list
  const std::uint8_t* forced_rejects = nullptr;  //!< one a draft, not zero: reject it and draw from the target
  bool bonus = true;                             //!< whether a token follows a draft that stands whole

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

//! What a rule says about one round. Meaningful where `why` is ok.
struct device_verdict {
  //! as of the rule on the host, under part::verify, `where` = row of the round: errors of its row, invalid_resolution
  //! (a claim); too_few_rows (`where` = rows given), size_mismatch (offsets)
  status why{};
  verdict decided{};
};

//! Where the verdicts of a batch go.
struct device_verdicts {
  device_verdict* rounds = nullptr;  //!< one a round
  //! null, or one a row: ok, its error, or not_read after the stop; `where` = row of its round
  status* row_states = nullptr;
};

//! Token-level verification (verify/token.hpp).
struct device_token_rule {
  std::uint32_t trial_cap = 32;  //!< proposals of a draw before its exact rule
};
//! Greedy verification (verify/greedy.hpp).
struct device_greedy_rule {};

namespace device_detail {

//! A digest a round: that of the row which it looks at.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr device_rows<Scalar> row_a_round(
    const device_rounds<Scalar>& rounds) noexcept {
  device_rows<Scalar> rows = rounds.rows;
  rows.count = rounds.count;
  return rows;
}

//! What can be said of rounds without reading them.
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

//! Bytes of device memory that `verify_batch` takes for rounds under a rule that draws: a digest a round. They are of
//! no use afterwards. Pure; O(1).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr std::size_t verify_memory_size(const device_rounds<Scalar>& rounds) noexcept {
  return device_batch_size(device_detail::row_a_round(rounds), rounds.transform);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
