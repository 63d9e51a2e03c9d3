// SPDX-License-Identifier: Apache-2.0
//! Reads a row for which the engine already has the maximum and the sum of every block of ids.
//!
//! Use it if the epilogue of the matrix product that computes the logits can return these numbers. A draw then usually
//! reads one or two blocks instead of the row, and a test usually reads one logit.
//! Symbols:    z = logits after bias and mask; T = temperature; Z as in row/digest.hpp; the sum of a block = sum of
//!             e^((z - maximum) / T); `error` = the engine's limit for the relative error of every sum
//!             (row_blocks::error).
//! Guarantees: draws have the exact distribution if every sum is within `error`, because the claimed sums cancel. A
//!             draw takes about 1.07 / (1 - error) trials. With the same random numbers it can return a different token
//!             than after `read_row`, because the proposals differ. Argmax and top entries equal those of `read_row`
//!             (bit-exact), and so do decisions of `accept`, except at near ties. The bounds on Z have the ratio (1 +
//!             error) / (1 - error); if they do not decide, `accept` reads the row. No allocation; noexcept.
//! Trust:      the engine's maximum and sum of a block are checked only when the block is read. The member that reads
//!             the block then returns blocks_disagree (`where` = first id of the block) if the maximum is wrong or the
//!             sum is off by more than `error` plus about 6.2 %, and row_has_nan if the block has a NaN. If a claimed
//!             sum is too small, draws choose the block too rarely and may never read it. Only `check_blocks` checks
//!             every block.
//! See:        docs/algorithms/blocks.md, row/detail/block_proposal.hpp, tests/unit/row/blocks_test.cpp,
//!             benchmarks/bench_blocks.cpp
#ifndef SPECVERIFY_ROW_BLOCKS_HPP
#define SPECVERIFY_ROW_BLOCKS_HPP

#include <specverify/row/detail/claimed_blocks.hpp>
#include <specverify/row/reading.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns whether a reading must read all blocks, because the request or the transform needs every id.
[[nodiscard]] constexpr bool reads_all(const row_transform& transform, const read_request& request) noexcept {
  return transform.truncation.active() || request.minimum_probability > 0 || request.integer_total ||
         request.close_total || request.exact_normaliser || request.standard_deviation;
}

//! Makes a reading from row statistics that were computed from claims.
struct block_reader {
  template <class Policy, class Scalar>
  [[nodiscard]] static row_reading<Policy, Scalar> finish(const row_digest& digest, Policy policy, row_view<Scalar> row,
                                                          const row_transform& transform, workspace& scratch) noexcept {
    return reading_access::reading(reading_access::summary(digest, scratch), policy, row, transform);
  }
};

}  // namespace detail

//! Returns the bytes of workspace that `read_row_from_blocks` needs for blocks of `block_size` ids. Pure; O(1).
[[nodiscard]] constexpr std::size_t row_blocks_workspace_size(std::uint32_t vocab_size, std::uint32_t block_size,
                                                              const row_transform& transform,
                                                              const read_request& request) noexcept {
  const detail::digest_layout layout = detail::layout_of(vocab_size, transform, request);
  const std::size_t blocks = detail::fits_blocks(block_size) ? kernel::block_count(vocab_size, block_size) : 0;
  const std::size_t claimed = 2 * slice_bytes<std::uint32_t>(blocks) + slice_bytes<double>(blocks) +
                              2 * slice_bytes<std::uint32_t>(layout.capacity) +
                              slice_bytes<std::byte>(detail::marked_row_size) + workspace_alignment;
  return claimed > layout.bytes() ? claimed : layout.bytes();
}

//! Makes a reading of a row from the engine's claims about the blocks. Reads the block of the argmax and the blocks
//! that may contain a requested top entry: O(V / block_size), plus O(block_size) per block. If the transform truncates,
//! or the request asks for anything except top entries and sums, calls `read_row` instead.
//! Errors: as for `read_row`; also unsupported (a row of probabilities), invalid_argument (block_size or error out of
//!         range), size_mismatch (not one maximum and one sum per block) and blocks_disagree. `where` = an id, or the
//!         first id of a block. `sample` and `residual` of the reading may also return blocks_disagree and row_has_nan,
//!         and `accept` blocks_disagree.
template <execution_policy Policy, class Scalar>
requires(!std::is_same_v<Scalar, double>) [[nodiscard]] result<row_reading<Policy, Scalar>> read_row_from_blocks(
    Policy policy, row_view<Scalar> row, const row_transform& transform, const read_request& request,
    const row_blocks& blocks, workspace& scratch) noexcept {
  if (const status why = detail::check_arguments(row, transform); !why.ok()) return why;
  if (row.kind() != row_kind::logits) return detail::row_error(errc::unsupported);
  if (detail::reads_all(transform, request)) return read_row(policy, row, transform, request, scratch);
  const detail::kept_subnormals order;
  workspace_scope taken(scratch);
  detail::claimed_row<Policy, Scalar> claimed(policy, detail::open(row, transform), blocks);
  const result<row_digest> digest = claimed.build(transform, request, scratch);
  if (!digest) return digest.error();
  taken.keep();
  return detail::block_reader::finish(*digest, policy, row, transform, scratch);
}

//! Reads the whole row and compares every claim with it. Use it when you connect an engine, and in tests. O(V).
//! Errors: as for `read_row_from_blocks`; `where` of blocks_disagree is the first id of a block whose claim is wrong.
template <execution_policy Policy, class Scalar>
requires(!std::is_same_v<Scalar, double>) [[nodiscard]] status
    check_blocks(Policy policy, row_view<Scalar> row, const row_transform& transform,
                 const row_blocks& blocks) noexcept {
  if (const status why = detail::check_arguments(row, transform); !why.ok()) return why;
  if (row.kind() != row_kind::logits) return detail::row_error(errc::unsupported);
  const detail::kept_subnormals order;
  return detail::claimed_row<Policy, Scalar>(policy, detail::open(row, transform), blocks).check(transform);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
