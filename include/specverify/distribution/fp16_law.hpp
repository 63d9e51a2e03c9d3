// SPDX-License-Identifier: Apache-2.0
//! Makes the distribution of a whole row in half precision, for a drafter that uploads every probability as an fp16
//! value.
//!
//! Paper:      HLM (arXiv 2505.11788): upload of the full distribution, 16 bits per token of the vocabulary.
//! Symbols:    count(v) = 2^24 fp16(probability of v), resolution = sum of the counts (row/fp16_row.hpp).
//! Guarantees: O(V), no allocation, noexcept. The text is exact even if the rounded row does not sum to 1, because the
//!             resolution is the actual sum. Near-tie in the logits, but law-exact after rounding.
//! See:        docs/algorithms/fp16_law.md, row/fp16_row.hpp, tests/unit/distribution/fp16_law_test.cpp
#ifndef SPECVERIFY_DISTRIBUTION_FP16_LAW_HPP
#define SPECVERIFY_DISTRIBUTION_FP16_LAW_HPP

#include <specverify/distribution/make_law.hpp>
#include <specverify/row/reading.hpp>

SPECVERIFY_NAMESPACE_BEGIN

//! Returns the number of workspace bytes that `fp16_law` takes and keeps: space for every id of the row.
[[nodiscard]] constexpr std::size_t fp16_law_workspace_size(std::uint32_t vocab_size) noexcept {
  return slice_bytes<token_id>(vocab_size) + slice_bytes<std::uint32_t>(vocab_size) + workspace_alignment;
}

//! Returns the distribution of a row in fp16, in arrays that remain in `scratch`. Any reading can be used, because
//! results that the reading lacks are computed.
//! Errors: workspace_too_small, and as for `row_reading::fp16_counts`; on an error `scratch` is unchanged.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<law> fp16_law(const row_reading<Policy, Scalar>& row, workspace& scratch) noexcept {
  workspace_scope scope(scratch);
  const auto ids = scratch.take<token_id>(row.vocab_size());
  const auto counts = scratch.take<std::uint32_t>(row.vocab_size());
  if (!ids || !counts) return status{errc::workspace_too_small, part::distribution, row.vocab_size()};
  const result<fp16_row> found = row.fp16_counts(*ids, *counts);
  if (!found) return found.error();
  const result<law> made = make_law(ids->first(found->size), counts->first(found->size), row.vocab_size());
  if (made) scope.keep();
  return made;
}

SPECVERIFY_NAMESPACE_END

#endif
