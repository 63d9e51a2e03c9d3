// SPDX-License-Identifier: Apache-2.0
//! Token-level verification of tokens that were not drawn from the law they are verified against: the papers' lossy
//! baselines, lossy by name.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605), sample-then-quantize; Communication-Efficient Hybrid
//!             Language Model (arXiv 2505.11788), compressed vocabulary: the token drawn from the whole law, the
//!             residual against the sent one.
//! Symbols:    q = law drawn from, q^ = claimed_law, t = count / resolution of the token (default: q^ of the token),
//!             a(v) = min(1, p(v) / t(v)), 1 where t(v) = 0 < p(v); committed law
//!             q(v) a(v) + sum_z q(z) (1 - a(z)) norm((p - q^_z)+)(v), q^_z = what a draft of z claims.
//! Guarantees: that law exactly, which is p only when t = q^ = q. Otherwise as `token_rule`: one read per row, no
//!             allocation, near-tie.
//! See:        docs/algorithms/mismatched.md, tests/unit/verify/mismatched_test.cpp, tests/law/mismatched_test.cpp,
//!             benchmarks/bench_mismatched.cpp, examples/docs/mismatched.cpp
#ifndef SPECVERIFY_VERIFY_MISMATCHED_HPP
#define SPECVERIFY_VERIFY_MISMATCHED_HPP

#include <specverify/verify/token.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct lossy_token_rule {
  std::uint32_t trial_cap = 32;  //!< as in `token_rule`

  static constexpr guarantee strength = guarantee::lossy;

  //! As `token_rule::verify`, and takes any kind of draft. Scratch: `verify_workspace_size`. Errors (`where` = row): as
  //! there; invalid_resolution: a count above its resolution, or a claimed law without one (`where` = index of the
  //! draft).
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
