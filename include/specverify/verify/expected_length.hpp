// SPDX-License-Identifier: Apache-2.0
//! How many tokens a round is worth: expected length from acceptance probabilities, and the acceptance probability of a
//! law.
//!
//! Paper:      arXiv 2211.17192 (1); authors' code of arXiv 2507.00605 (second form).
//! Symbols:    a_j = acceptance probability at position j given that j was reached; E[tokens] = 1 + sum_k prod_{j<=k}
//!             a_j = sum_k k prod_{j<k} a_j (1 - a_k) + (L+1) prod a_j; a(q^, p) = sum_v min(p(v), q^(v)) = 1 - TV(p,
//!             q^).
//! Guarantees: O(L), and O(support) after one digest; no allocation. Error of a(q^, p): 1e-12 for double rows, 1e-6 for
//!             float rows.
//! Deviates:   nothing.
//! See:        docs/algorithms/expected_length.md, tests/unit/verify/expected_length_test.cpp,
//!             examples/docs/expected_length.cpp
#ifndef SPECVERIFY_VERIFY_EXPECTED_LENGTH_HPP
#define SPECVERIFY_VERIFY_EXPECTED_LENGTH_HPP

#include <specverify/core/execution.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/row/digest.hpp>
#include <specverify/row/log_probability.hpp>
#include <specverify/row/transform.hpp>

#include <cmath>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Expected tokens of a round whose draft j (0-based) is accepted with probability acceptance[j] once reached; the next
//! token counts.
[[nodiscard]] constexpr double expected_tokens(std::span<const double> acceptance) noexcept {
  double sum = 1;
  double reached = 1;
  for (const double probability : acceptance) {
    reached *= probability;
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
    reached *= acceptance;
    sum += reached;
  }
  return sum;
}

//! The probability that `token_rule` accepts a token drawn from `from` when the target's law is that of `row` under
//! `transform`. For a point mass on x it is p(x). `summary` must hold the exact normaliser.
//! Errors: those of `log_probability`. O(size), or O(vocab_size) for a law with a tail.
template <class Policy, class Scalar>
requires execution_policy<Policy>
[[nodiscard]] status expected_acceptance(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                         const row_digest& summary, const workspace& scratch, const law& from,
                                         double& out) noexcept {
  double sum = 0;
  const auto add = [&](token_id id, std::uint32_t count) {
    if (count == 0 || static_cast<std::uint32_t>(id) >= row.valid_size()) return status{};
    double log_p = 0;
    const status why = log_probability(policy, row, transform, summary, scratch, id, log_p);
    if (!why.ok()) return why;
    const double p = std::exp(log_p);
    const double q = static_cast<double>(count) / static_cast<double>(from.resolution);
    sum += p < q ? p : q;
    return status{};
  };
  if (from.tail_count == 0) {
    for (std::uint32_t i = 0; i < from.size; ++i) {
      if (const status why = add(from.ids[i], from.counts[i]); !why.ok()) return why;
    }
  } else {
    for (std::uint32_t v = 0; v < from.vocab_size; ++v) {
      const auto id = static_cast<token_id>(v);
      if (const status why = add(id, from.count(id)); !why.ok()) return why;
    }
  }
  out = sum;
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
