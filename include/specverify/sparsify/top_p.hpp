// SPDX-License-Identifier: Apache-2.0
//! Keeps the smallest number of most probable tokens that together have at least the mass p.
//!
//! For example, p = 0.8 keeps two tokens of a row with the probabilities 0.7, 0.2 and 0.1.
//! Paper:      Conformal Sparsification (arXiv 2510.09942), appendix A.1 (with p = 1 - alpha).
//! Symbols:    p = mass; W = sum of the row's integer weights, each with a rounding error of at most 1/2.
//! Guarantees: never empty. With one token fewer, the support would have less than the mass p, up to rounding. Ties go
//!             to the smaller id. O(top entries); no allocation; bit-exact.
//! Deviates:   `max_support_size` is ours, not the paper's.
//! See:        docs/algorithms/top_p.md, tests/unit/sparsify/top_p_test.cpp
#ifndef SPECVERIFY_SPARSIFY_TOP_P_HPP
#define SPECVERIFY_SPARSIFY_TOP_P_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/sparsify/detail/top_entries.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct top_p;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] constexpr status check(const top_p& sparsifier) noexcept;

struct top_p {
  using state_type = no_state;
  double mass = 0.95;  //!< p in (0, 1]
  //! maximum number of tokens, of which the largest are kept; 0: no cap (the reading then needs up to V top entries)
  std::uint32_t max_support_size = 0;
  bool with_total_weight = false;  //!< whether to request W; without W, dropped_mass is 0

  [[nodiscard]] constexpr no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] constexpr no_state advance(no_state, const support&) const noexcept { return {}; }

  [[nodiscard]] constexpr read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    read_request wanted;
    wanted.integer_total = with_total_weight;
    wanted.sums = !with_total_weight;  // the sums give bounds on W
    wanted.top_entries = max_support_size > 0 && max_support_size < vocab_size ? max_support_size : vocab_size;
    return wanted;
  }
  [[nodiscard]] constexpr std::size_t workspace_size(no_state state, std::uint32_t vocab_size) const noexcept {
    return detail::support_bytes(detail::top_bound(request(state, vocab_size), vocab_size));
  }

  //! Errors: invalid_argument (p outside (0, 1] or NaN), digest_insufficient (the reading's top entries have less than
  //!         the mass p), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    const auto listed = detail::top_entries_of(row);
    if (!listed) return listed.error();
    const detail::top_view& from = *listed;
    if (row.total_bounds().most == 0 || from.size() == 0) return status{errc::digest_insufficient, part::sparsify, 0};
    const std::uint64_t weight = retained_weight({from.ids, from.weights});
    const detail::kept_count kept =
        row.decide_by_total([&](std::uint64_t total) noexcept { return count(from, weight, total); });
    if (!kept.enough) return status{errc::digest_insufficient, part::sparsify, from.size()};
    return detail::keep_largest(from, kept.count, scratch);
  }

 private:
  //! Returns how many of the top entries are kept under the assumption that W is `total`. `listed` is the sum of the
  //! weights of the top entries.
  [[nodiscard]] detail::kept_count count(const detail::top_view& from, std::uint64_t listed,
                                         std::uint64_t total) const noexcept {
    const std::uint64_t shared = detail::least_of_share(mass, total, from.vocab_size);
    const std::uint64_t target = shared < total ? shared : total;
    if (listed < target && !(max_support_size > 0 && from.size() >= max_support_size)) return {};
    const kernel::order_cut cut = kernel::radix_cut(from.weights.data(), from.size(), target, true);
    std::uint32_t count = 0, tied = 0;
    for (const std::uint32_t weight : from.weights) {
      count += weight > cut.weight ? 1u : 0u;
      tied += weight == cut.weight ? 1u : 0u;
    }
    count += cut.ties < tied ? cut.ties : tied;
    if (max_support_size > 0 && count > max_support_size) count = max_support_size;
    return {count, true};
  }
};

constexpr status check(const top_p& sparsifier) noexcept {
  const bool share = !numeric::is_nan(sparsifier.mass) && sparsifier.mass > 0 && sparsifier.mass <= 1;
  return share ? status{} : status{errc::invalid_argument, part::sparsify, 0};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
