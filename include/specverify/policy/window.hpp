// SPDX-License-Identifier: Apache-2.0
//! Limits a round by a bit budget: `bit_budget_window` ends the round before the draft that would exceed the budget.
//! For a window without a budget, use `fixed_window` (policy/concepts.hpp).
//!
//! Paper:      the static baselines of Quantize-Sample-and-Verify (arXiv 2507.00605); the per-batch bit budget of
//!             Conformal Sparsification (arXiv 2510.09942).
//! Guarantees: pure, O(log K) per call for a support of K tokens (O(size) for drop_zero), no allocation. The decision
//!             to draft a position depends on the position's distribution, but not on the token.
//! Deviates:   the first position is always drafted, because the paper's rule stops forever if this position costs more
//!             than the budget. Instead, the support is cut to the largest one within the budget.
//! See:        docs/algorithms/window.md, tests/unit/policy/window_test.cpp, tests/law/window_test.cpp
#ifndef SPECVERIFY_POLICY_WINDOW_HPP
#define SPECVERIFY_POLICY_WINDOW_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/quantize/concepts.hpp>

#include <cmath>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Formulas for the bits of a position.
enum class position_accounting : std::uint8_t {
  top_k = 0,      //!< K-SQS: log2 C(V,K) + log2 C(l+K-1,K-1), a real number; the drafted token is free
  threshold = 1,  //!< C-SQS: ceil log2 C(V,K) + ceil log2 V + log2 C(l+K-1,K-1); the drafted token is free
  dense = 2,      //!< QS: ceil log2 C(l+V-1,V-1) + ceil log2 V
  drop_zero = 3   //!< our encoding: K+ positive counts, the token's index among them, and a margin for the coder
};

//! Options of `clamp_support`.
struct clamp_options {
  bool allow_dense = false;  //!< take the whole vocabulary if `support_size` tokens exceed the budget but all V do not
  bool at_most = false;      //!< every smaller number of tokens must also be within the budget
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the bits of one drafted position with a support of `support_size` tokens, from 1 to vocab_size. For
//! drop_zero, `support_size` is the number of positive counts. With `at_most` (threshold, drop_zero), returns the
//! largest cost of a distribution with that many tokens or fewer.
[[nodiscard]] inline double position_bits(position_accounting accounting, std::uint32_t vocab_size,
                                          std::uint32_t support_size, std::uint32_t resolution,
                                          bool at_most = false) noexcept {
  const double all = static_cast<double>(vocab_size), l = static_cast<double>(resolution);
  const auto up_to = [&](double dearest) {
    return at_most && dearest < static_cast<double>(support_size) ? static_cast<std::uint32_t>(dearest) : support_size;
  };
  switch (accounting) {
    case position_accounting::top_k:
      return top_k_law_bits(vocab_size, support_size, resolution);
    case position_accounting::threshold: {  // the cost grows with K while (V - K)(l + K) > K (K + 1)
      const double middle = all - l - 1;
      const std::uint32_t size =
          up_to((middle + std::sqrt(numeric::product(middle, middle) + numeric::product(8 * all, l))) / 4 + 1);
      // above V / 2 the rounded term falls as K grows
      return threshold_law_bits(vocab_size, size, resolution) + (at_most && size > vocab_size / 2 ? 1 : 0);
    }
    case position_accounting::dense:
      return static_cast<double>(dense_token_bits(vocab_size, resolution));
    case position_accounting::drop_zero:
      break;
  }
  if (support_size > resolution) support_size = resolution;
  const std::uint32_t place = index_bits(support_size);  // the cost grows in K+ while (V - K+)(l - K+) > K+ (K+ + 1)
  const double law = drop_zero_law_bits(vocab_size, up_to(all * l / (all + l + 1) + 1), resolution);
  return numeric::product(1.02, law + place) + 1;
}

//! Returns the largest number of tokens, at most `support_size`, whose position costs at most `budget` bits. The result
//! is at least 1, because a round must draft. If all V tokens are within the budget and `support_size` tokens are not,
//! then `allow_dense` returns V. With `at_most`, every smaller number of tokens must also be within the budget. O(log
//! K).
[[nodiscard]] inline budget_clamp clamp_support(position_accounting accounting, std::uint32_t vocab_size,
                                                std::uint32_t support_size, std::uint32_t resolution, double budget,
                                                clamp_options options = {}) noexcept {
  if (support_size > vocab_size) support_size = vocab_size;
  if (support_size == 0) support_size = 1;
  const auto fits = [&](std::uint32_t size) {
    return position_bits(accounting, vocab_size, size, resolution, options.at_most) <= budget;
  };
  if (fits(support_size)) return {support_size, false, false};
  if (options.allow_dense && position_bits(accounting, vocab_size, vocab_size, resolution) <= budget)
    return {vocab_size, true, true};
  // The cost is concave in K, so the affordable values are a range of small K and perhaps a range of large K, which is
  // always above `support_size`.
  std::uint32_t low = 1, high = support_size;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return {low, true, false};
}

//! A window that drafts while the round's bits are within a budget.
//!
//! `charge` counts in units of 2^-10 bit, rounded up, because the papers' bits are real numbers. For dense the cost is
//! fixed. Otherwise it depends on K after the clamp (top_k), the number of listed tokens (threshold), or the number of
//! positive counts (drop_zero). Threshold needs distributions that list zero counts (law_format::sparse_paper).
struct bit_budget_window {
  std::uint32_t max_draft_length = 4;  //!< L without the budget
  std::uint32_t resolution = 100;      //!< l
  std::uint32_t support_size = 0;      //!< K without the budget; a session sets it
  std::uint32_t vocab_size = 0;        //!< V; a session sets it
  std::uint64_t budget = 5000;         //!< B, bits per round, up to 2^48
  //! bits of a round in addition to the distributions (header, padding); 80 is enough for a message without padding
  std::uint64_t overhead = 0;
  position_accounting accounting = position_accounting::drop_zero;
  bool allow_dense = false;  //!< if K tokens cost more than B, send all V tokens if they are within B

  static constexpr std::uint64_t charge_scale = 1024;

  constexpr void count_with(std::uint32_t all, std::uint32_t kept) noexcept { vocab_size = all, support_size = kept; }
  [[nodiscard]] constexpr plan_range range() const noexcept { return {max_draft_length, resolution, resolution}; }
  //! Returns the K that the budget allows.
  [[nodiscard]] budget_clamp clamp() const noexcept {
    return clamp_support(accounting, vocab_size, support_size, resolution, static_cast<double>(left()),
                         {allow_dense, accounting != position_accounting::top_k});
  }
  [[nodiscard]] draft_plan begin(const observation&) const noexcept {
    return {max_draft_length, resolution, clamp().support_size};
  }

  //! Returns the limit of a distribution over `kept` tokens, a number that the sparsifier chose. top_k charges K, so
  //! the limit is K after the clamp. `allow_dense` has no effect, because a threshold cannot send all V tokens instead.
  [[nodiscard]] budget_clamp clamp(std::uint32_t kept) const noexcept {
    if (accounting == position_accounting::dense) return {kept, false, false};
    if (accounting == position_accounting::top_k) {
      const std::uint32_t most = clamp().support_size;
      return {kept < most ? kept : most, kept > most, false};
    }
    const bool unknown_counts = accounting == position_accounting::drop_zero;
    return clamp_support(accounting, vocab_size, kept, resolution, static_cast<double>(left()),
                         {.at_most = unknown_counts});
  }

  //! Returns the cost of a position with this distribution, in units of 2^-10 bit, whichever token is drawn.
  [[nodiscard]] std::uint64_t charge(const law& next) const noexcept {
    std::uint32_t size = accounting == position_accounting::top_k ? clamp().support_size : next.size;
    if (accounting == position_accounting::drop_zero) {
      size = 0;
      for (std::uint32_t i = 0; i < next.size; ++i) size += next.counts[i] > 0 ? 1u : 0u;
    }
    const double bits = position_bits(accounting, next.vocab_size, size > 0 ? size : 1, next.resolution);
    return static_cast<std::uint64_t>(std::ceil(bits * static_cast<double>(charge_scale)));
  }
  [[nodiscard]] bool proceed(std::uint32_t, const law& next, std::uint64_t charged) const noexcept {
    return charged == 0 || charged + charge(next) <= left() * charge_scale;
  }

 private:
  [[nodiscard]] std::uint64_t left() const noexcept { return budget > overhead ? budget - overhead : 0; }
};

//! Checks a window. Errors (`where` = field in order, from 0): invalid_resolution, invalid_argument (K = 0; a budget of
//! 0 or above 2^48; an overhead that uses up the budget), empty_vocabulary, vocabulary_too_large.
[[nodiscard]] constexpr status check(const bit_budget_window& window) noexcept {
  if (window.resolution == 0 || window.resolution > max_lattice_resolution)
    return {errc::invalid_resolution, part::policy, 1};
  if (window.support_size == 0) return {errc::invalid_argument, part::policy, 2};
  if (window.vocab_size == 0) return {errc::empty_vocabulary, part::policy, 3};
  if (window.vocab_size > max_vocab_size) return {errc::vocabulary_too_large, part::policy, 3};
  if (window.budget == 0 || window.budget > std::uint64_t{1} << 48) return {errc::invalid_argument, part::policy, 4};
  if (window.overhead >= window.budget) return {errc::invalid_argument, part::policy, 5};
  return window.accounting <= position_accounting::drop_zero ? status{}
                                                             : status{errc::invalid_argument, part::policy, 6};
}

static_assert(charging_window<bit_budget_window> && budgeted_window<bit_budget_window> &&
              counting_window<bit_budget_window> && ranged_window<bit_budget_window>);

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
