// SPDX-License-Identifier: Apache-2.0
//! Keeps the tokens whose probability is at least a given share of the largest probability.
//!
//! For example, if the share is 0.1 and the largest probability is 0.5, tokens with a probability below 0.05 are
//! dropped.
//! Paper:      CU-HLM (arXiv 2505.11788) mentions this rule as a possible choice.
//! Symbols:    m = ratio; w_v = integer weight of token v; the support is { v : w_v >= m max w - 1/2 }, in which 1/2
//!             allows for the rounding of the weights.
//! Guarantees: never empty; m <= 2^-32 keeps every token with a positive weight; O(top entries); no allocation;
//!             bit-exact.
//! Deviates:   `max_support_size` is ours, not the paper's.
//! See:        docs/algorithms/min_p.md, tests/unit/sparsify/min_p_test.cpp
#ifndef SPECVERIFY_SPARSIFY_MIN_P_HPP
#define SPECVERIFY_SPARSIFY_MIN_P_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/sparsify/detail/top_entries.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct min_p;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] constexpr status check(const min_p& sparsifier) noexcept;

struct min_p {
  using state_type = no_state;
  double ratio = 0.05;  //!< m in [0, 1]
  //! maximum number of tokens, of which the largest are kept; 0: no cap (the reading then needs up to V top entries)
  std::uint32_t max_support_size = 0;

  [[nodiscard]] constexpr no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] constexpr no_state advance(no_state, const support&) const noexcept { return {}; }

  [[nodiscard]] constexpr read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    read_request wanted;
    if (max_support_size > 0 && max_support_size < vocab_size) {
      wanted.top_entries = max_support_size;
    } else {
      // the largest probability may be as small as 1 / V, so no fixed minimum probability lists all kept tokens
      wanted.top_entries = vocab_size;
    }
    wanted.sums = false;
    return wanted;
  }
  [[nodiscard]] constexpr std::size_t workspace_size(no_state state, std::uint32_t vocab_size) const noexcept {
    return detail::support_bytes(detail::top_bound(request(state, vocab_size), vocab_size));
  }

  //! Errors: invalid_argument (m outside [0, 1] or NaN), digest_insufficient (the reading does not list all tokens
  //!         above the share), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    const auto listed = detail::top_entries_of(row);
    if (!listed) return listed.error();
    const detail::top_view& from = *listed;
    if (from.size() == 0) return status{errc::digest_insufficient, part::sparsify, 0};
    const std::uint64_t least = detail::least_of_share(ratio, from.largest, 1);
    return detail::keep_from(
        row, from, [&](std::uint64_t) noexcept { return least; }, max_support_size, scratch);
  }
};

constexpr status check(const min_p& sparsifier) noexcept {
  const bool share = !numeric::is_nan(sparsifier.ratio) && sparsifier.ratio >= 0 && sparsifier.ratio <= 1;
  return share ? status{} : status{errc::invalid_argument, part::sparsify, 0};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
