// SPDX-License-Identifier: Apache-2.0
//! Verifies with shared noise: accepts a draft if the target's own draw with the same noise gives the same token.
//!
//! Therefore the text is the text that the target would draw without a drafter. Use it if the device can draft with the
//! same noise, by `race(noise, position)` on a reading of the drafter's row. The device then sends only ids.
//! Paper:      arXiv 2408.07978 (Daliri, Musco, Suresh).
//! Symbols:    p, q = distributions of target and drafter at one position; TV = their total variation distance. The
//!             acceptance probability is sum_x 1 / sum_v max(p_v / p_x, q_v / q_x) >= (1 - TV) / (1 + TV).
//! Guarantees: unconditional: each token is the winner of the target's race (row/race.hpp), so for any drafts it is a
//!             draw from p over random noise. The noise does not depend on the round, so a device that abandons a round
//!             and drafts again gets the same tokens. The rule reads each row once, or twice if log-probabilities are
//!             requested, and no row after the first mismatch. It reads no uniforms. No allocation.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/coupled.md, tests/unit/verify/coupled_test.cpp
#ifndef SPECVERIFY_VERIFY_COUPLED_HPP
#define SPECVERIFY_VERIFY_COUPLED_HPP

#include <specverify/core/noise.hpp>
#include <specverify/verify/concepts.hpp>
#include <specverify/verify/detail/greedy_step.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct coupled_rule {
  coupling_noise noise{};

  static constexpr guarantee strength = guarantee::unconditional;

  //! Verifies like `token_rule::verify`, with the same workspace. Draft i is at position `random.position` + i; the
  //! source of `random` is not read. A forced reject commits the winner of the race.
  //! Errors: the errors of `read_row` and `row_reading::race` (`where` = row); too_few_rows (`where` = number of rows);
  //!         output_too_small, size_mismatch (too few `forced_rejects`); workspace_too_small.
  template <execution_policy Policy, lossless_draft Draft, row_provider Rows, uniform_source Source>
  [[nodiscard]] result<verdict> verify(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                       const uniforms<Source>& random, const verify_request& request,
                                       workspace& scratch) const noexcept {
    return detail::verify_picks(
        policy, drafts, rows, request,
        [&](const auto& given, detail::round& round) noexcept {
          return pick(policy, given, random.position + given.index, round, scratch);
        },
        scratch);
  }

 private:
  template <class Policy, class Rows>
  [[nodiscard]] result<detail::picked_token> pick(Policy policy, const detail::given_row<Rows>& given,
                                                  std::uint32_t position, detail::round& round,
                                                  workspace& scratch) const noexcept {
    const workspace_scope scope(scratch);
    const auto row = read_row(policy, given.row, given.transform, race_request(given.row.valid_size()), scratch);
    const result<token_id> winner = row.ok() ? row->race(noise, position) : result<token_id>(row.error());
    if (!winner) {
      round.fail_row(winner.error(), given.index);
      return winner.error();
    }
    round.row_read(given.index);
    return detail::picked_token{*winner};
  }
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
