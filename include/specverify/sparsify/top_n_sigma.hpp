// SPDX-License-Identifier: Apache-2.0
//! Keeps the tokens whose logit is at most n standard deviations below the largest logit.
//!
//! Paper:      Top-n-sigma: Not All Logits Are You Need, arXiv 2411.07641.
//! Symbols:    n = deviations; sigma = standard deviation of the row's logits (row_summary::standard_deviation).
//! Guarantees: never empty. Keeps the same tokens at every temperature, except that no sparsifier keeps tokens below
//!             2^-32 of the largest probability. O(top entries), no sort; no allocation. Exact except at near ties,
//!             because sigma is computed from sums of doubles and the weights are rounded.
//! Deviates:   supports only rows of logits; `max_support_size` is ours. At temperature 0 it keeps only the argmax.
//! See:        docs/algorithms/top_n_sigma.md, tests/unit/sparsify/top_n_sigma_test.cpp
#ifndef SPECVERIFY_SPARSIFY_TOP_N_SIGMA_HPP
#define SPECVERIFY_SPARSIFY_TOP_N_SIGMA_HPP

#include <specverify/kernel/scalar/exponential.hpp>
#include <specverify/sparsify/detail/top_entries.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct top_n_sigma;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] inline status check(const top_n_sigma& sparsifier) noexcept;

struct top_n_sigma {
  using state_type = no_state;
  double deviations = 1;  //!< n >= 0; the paper uses 1
  //! maximum number of tokens, of which the largest are kept; 0: no cap (the reading then needs up to V top entries)
  std::uint32_t max_support_size = 0;
  bool with_total_weight = false;  //!< whether to request W, which dropped_mass needs

  [[nodiscard]] constexpr no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] constexpr no_state advance(no_state, const support&) const noexcept { return {}; }

  [[nodiscard]] constexpr read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    read_request wanted;
    wanted.top_entries = max_support_size > 0 && max_support_size < vocab_size ? max_support_size : vocab_size;
    wanted.integer_total = with_total_weight;
    wanted.standard_deviation = true;
    wanted.sums = false;
    return wanted;
  }
  [[nodiscard]] constexpr std::size_t workspace_size(no_state state, std::uint32_t vocab_size) const noexcept {
    return detail::support_bytes(detail::top_bound(request(state, vocab_size), vocab_size));
  }

  //! If the reading has no standard deviation, sigma is 0, so only the largest logit and logits equal to it are kept.
  //! Errors: invalid_argument (n is negative or not finite), unsupported (a row of probabilities), digest_insufficient
  //!         (the reading does not list all tokens above the bound), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    if (row.kind() != row_kind::logits) return status{errc::unsupported, part::sparsify, 0};
    const auto listed = detail::top_entries_of(row);
    if (!listed) return listed.error();
    const detail::top_view& from = *listed;
    std::uint32_t least = kernel::weight_one;
    if (!row.is_one_hot())
      least =
          kernel::logit_weight(-deviations * row.standard_deviation(), 0.0, kernel::weight_scale(row.temperature()));
    if (least == 0) least = 1;
    return detail::keep_from(
        row, from, [&](std::uint64_t) noexcept { return least; }, max_support_size, scratch);
  }
};

inline status check(const top_n_sigma& sparsifier) noexcept {
  return kernel::is_finite(sparsifier.deviations) && sparsifier.deviations >= 0
             ? status{}
             : status{errc::invalid_argument, part::sparsify, 0};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
