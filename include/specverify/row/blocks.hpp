// SPDX-License-Identifier: Apache-2.0
//! A row whose engine already has the maximum and the sum of every block, from the epilogue of the product that made
//! the logits: draws and tests then read a block or two in place of the row.
//!
//! Symbols:    z = logits after bias and mask; M_b = max z and S_b = sum of e^((z - M_b) / T) over block b, as claimed.
//! Sampling:   a trial picks block b in proportion to S_b e^(M_b / T), reads it, picks an id by the block's own sums as
//!             in row/sample.hpp, and accepts it with a probability that divides S_b out again.
//! Guarantees: draws have the exact law of row/sample.hpp and row/residual.hpp, whatever the S_b are within `error`, in
//!             about 1.07 / (1 - error) trials. The tokens are not those of `read_row`, since the proposals are others;
//!             near-tie, like those. Argmax and survivors: the same as from `read_row` (bit-exact). `accept`: the
//!             bracket of Z is (1 + error) / (1 - error) wide, and what it leaves open reads the row; decisions equal
//!             those of `read_row` but for near ties. No allocation; noexcept.
//! Trust:      what is read is compared with its claim: another maximum, a NaN, or a sum that is off by more than
//!             `error` and 6.2 % is blocks_disagree (`where` = first id of the block). What is not read is believed: a
//!             block that claims too little is drawn too rarely, and only `check_blocks` sees that.
//! See:        docs/algorithms/blocks.md, row/detail/block_proposal.hpp, tests/unit/row/blocks_test.cpp,
//!             examples/docs/blocks.cpp, benchmarks/bench_blocks.cpp
#ifndef SPECVERIFY_ROW_BLOCKS_HPP
#define SPECVERIFY_ROW_BLOCKS_HPP

#include <specverify/row/detail/claimed_blocks.hpp>
#include <specverify/row/reading.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Whether a reading can leave blocks unread: what is said of the whole row needs the whole row.
[[nodiscard]] constexpr bool reads_all(const row_transform& transform, const read_request& request) noexcept {
  return transform.truncation.active() || request.minimum_probability > 0 || request.integer_total ||
         request.close_total || request.exact_normaliser || request.standard_deviation;
}

//! Enters a digest that was made from claims, and joins it to its row.
struct block_reader {
  template <class Policy, class Scalar>
  [[nodiscard]] static row_reading<Policy, Scalar> finish(const row_digest& digest, Policy policy, row_view<Scalar> row,
                                                          const row_transform& transform, workspace& scratch) noexcept {
    return reading_access::reading(reading_access::summary(digest, scratch), policy, row, transform);
  }
};

}  // namespace detail

//! Bytes of workspace that `read_row_from_blocks` takes for blocks of `block_size` ids. Pure; O(1).
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

//! A reading of a row from what its engine claims about its blocks. Reads one block; with survivors also those that may
//! hold one. A truncation, and a request for anything but survivors, needs every id: then it is `read_row`. Rows of
//! logits in float or 16 bits. O(V / block_size), and O(block_size) for each block that is read.
//! Errors: those of `read_row` about arguments; unsupported (a row of probabilities); invalid_argument (block size,
//!         error), size_mismatch (not one maximum and one sum a block), row_has_nan, row_has_positive_infinity,
//!         row_is_empty, and blocks_disagree, `where` = an id or the first of a block. `sample`, `residual` and
//!         `accept` of the reading may also answer blocks_disagree and row_has_nan.
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

//! Reads the whole row and compares every claim with it: for the day an engine is connected, and for tests. O(V).
//! Errors: those of `read_row_from_blocks`; blocks_disagree names the first block that does not fit.
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
