// SPDX-License-Identifier: Apache-2.0
//! How many tokens a round is worth: the expected length from acceptance probabilities, which
//! `row_reading::acceptance_probability` gives.
//!
//! Paper:      arXiv 2211.17192 (1); authors' code of arXiv 2507.00605 (second form).
//! Symbols:    a_j = acceptance probability at position j given that j was reached; E[tokens] = 1 + sum_k prod_{j<=k}
//!             a_j = sum_k k prod_{j<k} a_j (1 - a_k) + (L+1) prod a_j.
//! Guarantees: O(L); no allocation.
//! Deviates:   nothing.
//! See:        docs/algorithms/expected_length.md, tests/unit/verify/expected_length_test.cpp,
//!             examples/docs/expected_length.cpp
#ifndef SPECVERIFY_VERIFY_EXPECTED_LENGTH_HPP
#define SPECVERIFY_VERIFY_EXPECTED_LENGTH_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/cpp20.hpp>

#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Expected tokens of a round whose draft j (0-based) is accepted with probability acceptance[j] once reached; the next
//! token counts.
[[nodiscard]] constexpr double expected_tokens(std::span<const double> acceptance) noexcept {
  double sum = 1;
  double reached = 1;
  for (const double probability : acceptance) {
    reached = numeric::product(reached, probability);
    sum += reached;
  }
  return sum;
}

//! The same for `draft_length` drafts of one acceptance probability in [0, 1]: the sum, so that 1 gives draft_length +
//! 1.
[[nodiscard]] constexpr double expected_tokens(double acceptance, std::uint32_t draft_length) noexcept {
  double sum = 1;
  double reached = 1;
  for (std::uint32_t i = 0; i < draft_length; ++i) {
    reached = numeric::product(reached, acceptance);
    sum += reached;
  }
  return sum;
}

SPECVERIFY_NAMESPACE_END

#endif
