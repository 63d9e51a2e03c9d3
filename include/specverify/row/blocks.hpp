// SPDX-License-Identifier: Apache-2.0
//! Reads a row for which the engine already has the maximum and the sum of every block, for example from the epilogue
//! of the matrix product that made the logits. Draws and tests then read one or two blocks instead of the row.
//!
//! Symbols:    z = logits after bias and mask; T = temperature; M_b = max z and S_b = sum of e^((z - M_b) / T) over
//!             block b, as the engine claims them; `error` = the largest relative error of S_b that the engine
//!             declares.
//! Sampling:   a trial picks block b in proportion to S_b e^(M_b / T), reads the block, and uses sums over the block to
//!             pick an id, as in row/sample.hpp. The probability of accepting the id contains 1 / S_b, so an error of
//!             S_b does not change the distribution.
//! Guarantees: draws have the exact distribution of row/sample.hpp and row/residual.hpp, for any S_b whose relative
//!             error is at most `error`. A draw takes about 1.07 / (1 - error) trials. The tokens differ from the
//!             tokens after `read_row` because the proposals differ. Tokens of both kinds of reading are near-tie.
//!             Argmax and top entries equal the results of `read_row` (bit-exact). The bounds of Z for `accept` have
//!             the ratio (1 + error) / (1 - error); if these bounds do not decide, `accept` reads the row. Decisions
//!             equal the results of `read_row` except for near ties. No allocation; noexcept.
//! Trust:      the engine's claims about a block are checked only if the block is read. A wrong maximum, a NaN, or a
//!             sum whose relative error exceeds `error` plus 6.2 % returns blocks_disagree (`where` = first id of the
//!             block). Blocks that are not read are trusted. For example, if a block's claim is too small, draws choose
//!             the block too rarely, and only `check_blocks` can detect this.
//! See:        docs/algorithms/blocks.md, row/detail/block_proposal.hpp, tests/unit/row/blocks_test.cpp,
//!             benchmarks/bench_blocks.cpp
#ifndef SPECVERIFY_ROW_BLOCKS_HPP
#define SPECVERIFY_ROW_BLOCKS_HPP

#include <specverify/row/detail/claimed_blocks.hpp>
#include <specverify/row/reading.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns whether a reading must read all blocks, because the request or the transform concerns the whole row.
[[nodiscard]] constexpr bool reads_all(const row_transform& transform, const read_request& request) noexcept {
  return transform.truncation.active() || request.minimum_probability > 0 || request.integer_total ||
         request.close_total || request.exact_normaliser || request.standard_deviation;
}

//! Registers row statistics made from claims, and joins them to the row.
struct block_reader {
  template <class Policy, class Scalar>
  [[nodiscard]] static row_reading<Policy, Scalar> finish(const row_digest& digest, Policy policy, row_view<Scalar> row,
                                                          const row_transform& transform, workspace& scratch) noexcept {
    return reading_access::reading(reading_access::summary(digest, scratch), policy, row, transform);
  }
};

}  // namespace detail

//! Returns the bytes of workspace that `read_row_from_blocks` takes for blocks of `block_size` ids. Pure; O(1).
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

//! Makes a reading of a row from the engine's claims about the blocks. It reads one block, plus those that may hold a
//! requested top entry. A truncation, or a request for anything but top entries, needs every id; in that case it calls
//! `read_row`. The row must be logits in float or 16 bits. O(V / block_size), plus O(block_size) per block that is
//! read.
//! Errors: as for `read_row`, about arguments; unsupported (a row of probabilities); invalid_argument (block size,
//!         error), size_mismatch (not one maximum and one sum per block), row_has_nan, row_has_positive_infinity,
//!         row_is_empty, and blocks_disagree; `where` = an id or the first id of a block. `sample`, `residual` and
//!         `accept` of the reading may also return blocks_disagree and row_has_nan.
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
//! Errors: as for `read_row_from_blocks`; blocks_disagree names the first block whose claim is wrong.
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
