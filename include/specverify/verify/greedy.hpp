// SPDX-License-Identifier: Apache-2.0
//! Verifies greedily: accepts a draft if it is the target's argmax, so the text is the target's own greedy text.
//!
//! If the verdict has a next token, it is the target's argmax after the accepted drafts.
//! Paper:      arXiv 2604.17701 (baseline SD-greedy).
//! Guarantees: unconditional: for any drafts, the text equals the target's greedy text. The rule reads each row once,
//!             without a softmax (PRF-5), or twice if log-probabilities are requested, and no row after the first
//!             mismatch. It reads no uniforms. No allocation. Bit-exact; ties go to the smaller id. A row counts as a
//!             near tie if the two largest logits differ by at most 2^-20 of the larger magnitude.
//! Deviates:   bias and mask apply, but temperature and truncation do not affect the tokens.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/greedy.md, tests/unit/verify/greedy_test.cpp, benchmarks/bench_greedy.cpp
#ifndef SPECVERIFY_VERIFY_GREEDY_HPP
#define SPECVERIFY_VERIFY_GREEDY_HPP

#include <specverify/verify/concepts.hpp>
#include <specverify/verify/detail/greedy_step.hpp>
#include <specverify/verify/detail/round.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct greedy_rule {
  static constexpr guarantee strength = guarantee::unconditional;

  //! Verifies like `token_rule::verify`, but a forced reject commits the argmax. Only log-probabilities need workspace,
  //! and one more read per row; they are computed under the row's transform.
  //! Errors: the errors of `argmax` and, with log-probabilities, of `read_row` (`where` = row); too_few_rows (`where` =
  //!         number of rows); output_too_small; size_mismatch (too few `forced_rejects`); workspace_too_small.
  template <execution_policy Policy, lossless_draft Draft, row_provider Rows, uniform_source Source>
  [[nodiscard]] result<verdict> verify(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                       const uniforms<Source>&, const verify_request& request,
                                       workspace& scratch) const noexcept {
    return detail::verify_picks(
        policy, drafts, rows, request,
        [&](const auto& given, detail::round& round) noexcept -> result<detail::picked_token> {
          const auto best = detail::read_argmax(policy, given, round);
          if (!best) return best.error();
          return detail::picked_token{best->token, best->near_tie};
        },
        scratch);
  }
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
