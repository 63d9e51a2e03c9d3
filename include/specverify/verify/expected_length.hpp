// SPDX-License-Identifier: Apache-2.0
//! Computes the expected number of tokens that a round commits from the acceptance probabilities of its drafts.
//!
//! `row_reading::acceptance_probability` returns such a probability.
//! Paper:      arXiv 2211.17192, equation (1); the authors' code of arXiv 2507.00605 has an equivalent form.
//! Symbols:    a_j = probability that draft j is accepted if all drafts before it are; L = number of drafts; E[tokens]
//!             = 1 + sum_{k=1..L} prod_{j<=k} a_j.
//! Guarantees: O(L); no allocation.
//! See:        docs/algorithms/expected_length.md, tests/unit/verify/expected_length_test.cpp
#ifndef SPECVERIFY_VERIFY_EXPECTED_LENGTH_HPP
#define SPECVERIFY_VERIFY_EXPECTED_LENGTH_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/cpp20.hpp>

#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Returns the expected number of tokens in a round. acceptance[j] is the probability that draft j, from 0, is accepted
//! if all drafts before it are. The token after the accepted drafts counts, so without drafts the result is 1.
[[nodiscard]] constexpr double expected_tokens(std::span<const double> acceptance) noexcept {
  double sum = 1;
  double reached = 1;
  for (const double probability : acceptance) {
    reached = numeric::product(reached, probability);
    sum += reached;
  }
  return sum;
}

//! Returns the expected number of tokens for `draft_length` drafts that have the same acceptance probability, in [0,
//! 1]. The function adds the terms one by one, because the closed form divides by zero if the probability is 1.
//! O(draft_length).
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
