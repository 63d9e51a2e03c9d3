// SPDX-License-Identifier: Apache-2.0
//! Top-K and threshold selection from the survivors of a digest, ids ascending, ties to the smaller id.
//!
//! Symbols:    w_v = integer weights, W = total_weight (row/digest.hpp); q(v) = w_v / W.
//! Guarantees: O(survivors); no allocation; noexcept; ids and weights are bit-exact. Ids of integer weight 0 are never
//!             selected. A selection is valid until the next selection from the same digest.
//! See:        docs/algorithms/select.md, kernel/scalar/select.hpp, tests/unit/row/select_test.cpp,
//!             benchmarks/bench_select.cpp
#ifndef SPECVERIFY_ROW_SELECT_HPP
#define SPECVERIFY_ROW_SELECT_HPP

#include <specverify/row/digest.hpp>

SPECVERIFY_TYPES_BEGIN

struct selection {
  std::span<const token_id> ids{};           //!< ascending
  std::span<const std::uint32_t> weights{};  //!< positive integer weights
  std::uint64_t total_weight = 0;            //!< W of the whole row, 0 when the digest did not compute it
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] inline status select_largest(const row_digest& from, const workspace& space, std::size_t keep,
                                           selection& out) noexcept {
  const auto ids = space.at<token_id>(from.survivor_ids);
  const auto weights = space.at<std::uint32_t>(from.survivor_weights);
  if (keep >= ids.size()) {
    out = {ids, weights, from.total_weight};
    return {};
  }
  const auto kept_ids = space.at<token_id>(from.selected_ids);
  const auto kept_weights = space.at<std::uint32_t>(from.selected_weights);
  if (keep > kept_ids.size()) return row_error(errc::digest_insufficient);
  const auto size = static_cast<std::uint32_t>(weights.size());
  const kernel::order_cut cut = kernel::radix_cut(weights.data(), size, keep, false);
  const std::uint32_t kept =
      kernel::apply_cut(cut, ids.data(), weights.data(), size, kept_ids.data(), kept_weights.data());
  out = {kept_ids.first(kept), kept_weights.first(kept), from.total_weight};
  return {};
}

}  // namespace detail

//! The `k` largest entries (fewer when fewer have a positive integer weight).
//! Errors: invalid_argument (k is 0), digest_insufficient (fewer than k were gathered). On error `out` stays as it was.
template <execution_policy Policy>
[[nodiscard]] status select_top_k(Policy, const row_digest& from, const workspace& space, std::uint32_t k,
                                  selection& out) noexcept {
  if (k == 0) return detail::row_error(errc::invalid_argument);
  if (k > from.survivor_ids.count && !from.survivors_complete) return detail::row_error(errc::digest_insufficient);
  return detail::select_largest(from, space, k, out);
}

//! Every id with w_v >= beta * W, in double; the largest one alone when there is none. beta <= 0: every id of positive
//! weight.
//! Errors: invalid_argument (beta is not finite), digest_insufficient (W was not computed, or ids down to beta were not
//!         gathered).
template <execution_policy Policy>
[[nodiscard]] status select_threshold(Policy, const row_digest& from, const workspace& space, double beta,
                                      selection& out) noexcept {
  if (!kernel::is_finite(beta)) return detail::row_error(errc::invalid_argument);
  if (from.total_weight == 0) return detail::row_error(errc::digest_insufficient);
  const auto weights = space.at<std::uint32_t>(from.survivor_weights);
  const bool gathered = from.survivors_complete || (from.minimum_probability > 0.0 && beta >= from.minimum_probability);
  if (weights.empty()) return detail::row_error(errc::digest_insufficient);
  const std::uint64_t least = beta > 0.0 ? detail::share_of(beta < 1.0 ? beta : 1.0, from.total_weight) : 1;
  std::size_t keep = 0;
  bool reaches = gathered;
  for (const std::uint32_t weight : weights) {
    keep += weight >= least ? 1u : 0u;
    // survivors are a prefix of the order: one below the bar means all above it are here
    reaches = reaches || weight < least;
  }
  if (!reaches) return detail::row_error(errc::digest_insufficient);
  return detail::select_largest(from, space, keep == 0 ? 1 : keep, out);
}

SPECVERIFY_NAMESPACE_END

#endif
