// SPDX-License-Identifier: Apache-2.0
//! Proposes a token for a draw from a row whose block maxima and sums the engine claims (row/blocks.hpp): reads one
//! block, compares the block with the claim, and proposes an id.
#ifndef SPECVERIFY_ROW_DETAIL_BLOCK_PROPOSAL_HPP
#define SPECVERIFY_ROW_DETAIL_BLOCK_PROPOSAL_HPP

#include <specverify/row/detail/claims.hpp>
#include <specverify/row/detail/normaliser.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

using kernel::locate;

//! Opens one block of a row, padded with forbidden ids to a multiple of 64. `buffer` must have space for
//! kernel::block_size values.
template <class Scalar>
[[nodiscard]] inline kernel::row_source<float> open_block(const kernel::row_source<Scalar>& source, std::uint32_t first,
                                                          std::uint32_t size, float* buffer) noexcept {
  const std::uint32_t left = source.size - first;
  kernel::row_source<float> block;
  block.size = kernel::block_groups(left < size ? left : size, 64);
  block.data = kernel::load(source, first, block.size, buffer);
  return block;
}

//! Checks that a block has the claimed maximum and no NaN. `first`: the first id of the block.
[[nodiscard]] inline status compare_maximum(const kernel::row_source<float>& block,
                                            const kernel::row_extremes<float>& found, float claimed,
                                            std::uint32_t first) noexcept {
  if (found.has_nan || kernel::is_nan(found.maximum)) {
    const status why = find_error(block);
    return row_error(why.code, first + why.where);
  }
  const bool same = !(found.maximum < claimed) && !(found.maximum > claimed);
  return same ? status{} : row_error(errc::blocks_disagree, first);
}

//! Makes a proposal from a row with claimed blocks: picks a block in proportion to the claimed sums S, then a lane and
//! an id in proportion to the approximate weights w. The proposal's envelope contains S / w(block), so an accepted id
//! follows the distribution e_v for every S.
template <class Policy, class Scalar>
[[nodiscard]] inline proposal propose_from_claim(Policy policy, const kernel::row_source<Scalar>& source,
                                                 const row_digest& digest, workspace_base base,
                                                 double uniform) noexcept {
  double position = uniform * digest.coarse_total;
  const auto sums = base.at<double>(digest.block_sums);
  const std::size_t at = locate(sums.data(), sums.size(), position);
  if (at == sums.size()) return {};
  const auto first = static_cast<std::uint32_t>(at) * digest.claimed_size;
  const float maximum = base.first_of<float>(digest.lane_sums)[at];
  float buffer[kernel::block_size], lanes[kernel::lane_count];
  double sum = 0;
  const kernel::row_source<float> block = open_block(source, first, digest.claimed_size, buffer);
  const kernel::envelope<float> weight{maximum, kernel::coarse_scale(digest.temperature), false};
  const auto found = kernel::coarse_pass(policy, block, weight, {lanes, &sum, nullptr});
  if (const status why = compare_maximum(block, found, maximum, first); !why.ok()) return {no_token, 0, 1, why};

  float entries[kernel::block_size / kernel::lane_count];
  return propose_in_block({digest.reference, digest.temperature, digest.lower, digest.upper, source.size},
                          {block.data, block.size, first, maximum, lanes, sum}, sums[at], position, entries);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
