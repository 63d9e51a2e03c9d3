// SPDX-License-Identifier: Apache-2.0
//! Removes tokens with a count of 0 from a quantized distribution, because they cannot be drafted and their ids cost
//! bits.
//!
//! Paper:      none; Conformal Sparsification (arXiv 2510.09942) sends these tokens too.
//! Symbols:    K = ids.size(), K+ = number of positive counts.
//! Guarantees: O(K), no allocation, noexcept. Law-exact, because count(v) of every token v is unchanged.
//! See:        docs/algorithms/drop_zero.md, tests/unit/quantize/drop_zero_test.cpp
#ifndef SPECVERIFY_QUANTIZE_DROP_ZERO_HPP
#define SPECVERIFY_QUANTIZE_DROP_ZERO_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/distribution/law.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Copies the entries with a positive count to the front of the outputs, in order, and returns K+. The outputs may be
//! the inputs (in place). On an error nothing is written.
//! Errors: size_mismatch (ids and counts differ in length), output_too_small (`where` = K+).
[[nodiscard]] constexpr result<std::uint32_t> drop_zero(std::span<const token_id> ids,
                                                        std::span<const std::uint32_t> counts,
                                                        std::span<token_id> kept_ids,
                                                        std::span<std::uint32_t> kept_counts) noexcept {
  if (ids.size() != counts.size()) return status{errc::size_mismatch, part::quantize, 0};
  std::uint32_t positive = 0;
  for (const std::uint32_t count : counts) positive += count > 0 ? 1u : 0u;
  if (kept_ids.size() < positive || kept_counts.size() < positive)
    return status{errc::output_too_small, part::quantize, positive};
  std::size_t next = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (counts[i] == 0) continue;
    kept_ids[next] = ids[i];
    kept_counts[next] = counts[i];
    ++next;
  }
  return positive;
}

//! Returns the bytes of workspace that the overload for `law` takes and keeps, for at most `size` listed ids.
[[nodiscard]] constexpr std::size_t drop_zero_workspace_size(std::uint32_t size) noexcept {
  return slice_bytes<token_id>(size) + slice_bytes<std::uint32_t>(size) + workspace_alignment;
}

//! Returns the same `law` without zeros, in arrays that remain in `scratch`. A `law` with a tail is rejected, because
//! in such a `law` a listed zero differs from an id that is not listed.
//! Errors: unsupported (tail_count > 0), empty_support (no positive count), workspace_too_small.
[[nodiscard]] inline result<law> drop_zero(const law& from, workspace& scratch) noexcept {
  if (from.tail_count != 0) return status{errc::unsupported, part::quantize, 0};
  const std::span<const std::uint32_t> counts{from.counts, from.size};
  std::uint32_t positive = 0;
  for (const std::uint32_t count : counts) positive += count > 0 ? 1u : 0u;
  if (positive == 0) return status{errc::empty_support, part::quantize, 0};
  workspace_scope scope(scratch);
  const auto ids = scratch.take<token_id>(positive);
  const auto kept_counts = scratch.take<std::uint32_t>(positive);
  if (!ids || !kept_counts) return status{errc::workspace_too_small, part::quantize, positive};
  const result<std::uint32_t> kept = drop_zero({from.ids, from.size}, counts, *ids, *kept_counts);
  if (!kept) return kept.error();
  scope.keep();
  law compact = from;
  compact.ids = ids->data();
  compact.counts = kept_counts->data();
  compact.size = *kept;
  return compact;
}

SPECVERIFY_NAMESPACE_END

#endif
