// SPDX-License-Identifier: Apache-2.0
//! The law of a whole row in half precision: what a drafter uploads that sends every probability as an fp16 value.
//!
//! Paper:      Hybrid language model, as in arXiv 2505.11788 (HLM): full-law upload, b = 16 bits per token of the
//!             vocabulary.
//! Symbols:    count(v) = 2^24 fp16(q(v)), resolution = sum of the counts (row/fp16_row.hpp).
//! Guarantees: O(V), no allocation, noexcept. A law like any other: what is sampled is what is verified, so rows that
//!             sum to 1 +- 1e-3 after rounding stay exact. Near-tie in the logits, law-exact once made.
//! See:        docs/algorithms/fp16_law.md, row/fp16_row.hpp, tests/unit/distribution/fp16_law_test.cpp,
//!             examples/docs/fp16_law.cpp
#ifndef SPECVERIFY_DISTRIBUTION_FP16_LAW_HPP
#define SPECVERIFY_DISTRIBUTION_FP16_LAW_HPP

#include <specverify/distribution/make_law.hpp>
#include <specverify/row/fp16_row.hpp>

SPECVERIFY_NAMESPACE_BEGIN

//! Bytes of workspace that `fp16_law` takes and keeps: room for every id of the row.
[[nodiscard]] constexpr std::size_t fp16_law_workspace_size(std::uint32_t vocab_size) noexcept {
  return slice_bytes<token_id>(vocab_size) + slice_bytes<std::uint32_t>(vocab_size) + workspace_alignment;
}

//! The law of `row` under `transform` in fp16, over arrays cut from `scratch`, which keeps them. `digested` is the
//! row's digest (it needs nothing in particular), `digest_space` the workspace that holds it; `scratch` may be the same
//! one.
//! Errors: workspace_too_small, and those of `fp16_row_counts`; then `scratch` is as it was.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<law> fp16_law(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                   const row_digest& digested, const workspace& digest_space,
                                   workspace& scratch) noexcept {
  const std::size_t mark = scratch.mark();
  workspace_slice ids, counts;
  if (!scratch.take<token_id>(digested.valid_size, ids) || !scratch.take<std::uint32_t>(digested.valid_size, counts)) {
    scratch.rewind(mark);
    return status{errc::workspace_too_small, part::distribution, digested.valid_size};
  }
  fp16_row found;
  const status why = fp16_row_counts(policy, row, transform, digested, digest_space, scratch.at<token_id>(ids),
                                     scratch.at<std::uint32_t>(counts), found);
  const result<law> made = why.ok() ? make_law(scratch.at<token_id>(ids).first(found.size),
                                               scratch.at<std::uint32_t>(counts).first(found.size), digested.valid_size)
                                    : result<law>(why);
  if (!made) scratch.rewind(mark);
  return made;
}

SPECVERIFY_NAMESPACE_END

#endif
