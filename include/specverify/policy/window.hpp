// SPDX-License-Identifier: Apache-2.0
//! Window policies. `fixed_window` plans every round alike.
//!
//! Paper:      the static baselines of Quantize-Sample-and-Verify (arXiv 2507.00605) and of K-SQS.
//! Symbols:    L = max_draft_length, l = resolution, K = support_size.
//! Guarantees: pure, constexpr, no allocation.
//! See:        docs/algorithms/window.md, tests/unit/policy/window_test.cpp, examples/docs/window.cpp
#ifndef SPECVERIFY_POLICY_WINDOW_HPP
#define SPECVERIFY_POLICY_WINDOW_HPP

#include <specverify/policy/concepts.hpp>

SPECVERIFY_NAMESPACE_BEGIN

//! The same plan for every round; every position up to L is drafted. Converts to its plan, which is a policy itself.
struct fixed_window {
  static constexpr bool unconditional = true;
  draft_plan plan{};

  [[nodiscard]] constexpr draft_plan begin(const observation&) const noexcept { return plan; }
  [[nodiscard]] constexpr bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
  constexpr operator draft_plan() const noexcept { return plan; }
};

static_assert(window_policy<fixed_window>);

SPECVERIFY_NAMESPACE_END

#endif
