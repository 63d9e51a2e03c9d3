// SPDX-License-Identifier: Apache-2.0
//! Verifies drafts token by token against a distribution from which they were not drawn. This is lossy.
//!
//! Use it to reproduce the papers' baselines.
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605), sample-then-quantize; CU-HLM (arXiv 2505.11788),
//!             compressed vocabulary.
//! Symbols:    p = target's distribution; q = distribution from which the token is drawn; q^ = claimed_law, the sent
//!             distribution; q^_z = the claim in a draft of token z; t = count / resolution of the token, by default
//!             its probability under q^; a(v) = min(1, p(v) / t(v)), but 1 if t(v) = 0 < p(v).
//! Guarantees: the committed tokens have exactly the distribution q(v) a(v) + sum_z q(z) (1 - a(z)) norm((p -
//!             q^_z)+)(v), where norm scales to the sum 1. It equals p only if t = q^ = q. Rows are read as by
//!             `token_rule`. No allocation; exact except at near ties.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/mismatched.md, tests/unit/verify/mismatched_test.cpp, tests/law/mismatched_test.cpp,
//!             benchmarks/bench_mismatched.cpp
#ifndef SPECVERIFY_VERIFY_MISMATCHED_HPP
#define SPECVERIFY_VERIFY_MISMATCHED_HPP

#include <specverify/verify/token.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct lossy_token_rule {
  std::uint32_t trial_cap = 32;  //!< maximum number of proposals per draw, as in `token_rule`

  static constexpr guarantee strength = guarantee::lossy;

  //! Verifies like `token_rule::verify`, but accepts drafts of any kind. The workspace must have
  //! `verify_workspace_size` bytes.
  //! Errors: the errors of `token_rule::verify`; invalid_resolution (a count exceeds the resolution, or the resolution
  //!         of a claimed distribution is 0; `where` = index of the draft).
  template <execution_policy Policy, token_draft Draft, row_provider Rows, uniform_source Source>
  [[nodiscard]] result<verdict> verify(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                       const uniforms<Source>& random, const verify_request& request,
                                       workspace& scratch) const noexcept {
    return token_rule{trial_cap}.decide(policy, drafts, rows, random, request, scratch);
  }
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
