// SPDX-License-Identifier: Apache-2.0
//! Keeps the tokens with a probability of at least beta.
//!
//! Paper:      Conformal Sparsification (arXiv 2510.09942), C-SQS with a fixed threshold (eta = 0).
//! Symbols:    beta = minimum_probability; w_v = integer weight of token v; W = total weight; V = vocabulary size; the
//!             support is { v : w_v >= beta W - 1 - beta V / 2 }, in which 1 + beta V / 2 allows for the rounding of
//!             the weights.
//! Guarantees: never empty, because the largest token always stays; beta <= 0 keeps every token with a positive weight;
//!             O(top entries); no allocation; bit-exact.
//! Deviates:   `max_support_size`, the cap, is ours. You must set it, because a flat row or beta <= 0 would keep the
//!             whole vocabulary.
//! See:        docs/algorithms/threshold.md, tests/unit/sparsify/threshold_test.cpp
#ifndef SPECVERIFY_SPARSIFY_THRESHOLD_HPP
#define SPECVERIFY_SPARSIFY_THRESHOLD_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/sparsify/detail/top_entries.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct threshold;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] constexpr status check(const threshold& sparsifier) noexcept;

struct threshold {
  using state_type = no_state;
  double minimum_probability = 1e-3;  //!< beta, any number
  //! maximum number of tokens, of which the largest are kept. Must be set, because a flat row would keep every token; V
  //! means no limit
  std::uint32_t max_support_size = 0;
  bool with_total_weight = false;  //!< whether to request W; without W, dropped_mass is 0

  [[nodiscard]] constexpr no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] constexpr no_state advance(no_state, const support&) const noexcept { return {}; }

  [[nodiscard]] constexpr read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    read_request wanted;
    wanted.integer_total = with_total_weight;
    wanted.sums = !with_total_weight;  // the sums give bounds on W
    wanted.top_entries = 1;
    if (max_support_size < vocab_size) {
      wanted.top_entries = max_support_size;
    } else if (minimum_probability <= 0) {
      wanted.top_entries = vocab_size;
    } else {
      wanted.minimum_probability = minimum_probability < 1 ? minimum_probability : 1;
    }
    return wanted;
  }
  [[nodiscard]] constexpr std::size_t workspace_size(no_state state, std::uint32_t vocab_size) const noexcept {
    return detail::support_bytes(detail::top_bound(request(state, vocab_size), vocab_size));
  }

  //! Errors: invalid_argument (beta is NaN, or the cap is not set), digest_insufficient (the reading does not list all
  //!         tokens above beta), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    const auto listed = detail::top_entries_of(row);
    if (!listed) return listed.error();
    const detail::top_view& from = *listed;
    if (row.total_bounds().most == 0) return status{errc::digest_insufficient, part::sparsify, 0};
    const auto least = [&](std::uint64_t total) noexcept {
      return detail::least_above(minimum_probability, total, from.vocab_size);
    };
    return detail::keep_from(row, from, least, max_support_size, scratch);
  }
};

constexpr status check(const threshold& sparsifier) noexcept {
  if (numeric::is_nan(sparsifier.minimum_probability)) return {errc::invalid_argument, part::sparsify, 0};
  return sparsifier.max_support_size > 0 ? status{} : status{errc::invalid_argument, part::sparsify, 1};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
