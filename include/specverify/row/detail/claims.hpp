// SPDX-License-Identifier: Apache-2.0
//! Provides functions for rows whose engine supplies the maximum and the sum of each block (row/blocks.hpp): checks of
//! these claims, bounds on Z, and a proposal from a block that was read. CPU and GPU code share them (C++17).
#ifndef SPECVERIFY_ROW_DETAIL_CLAIMS_HPP
#define SPECVERIFY_ROW_DETAIL_CLAIMS_HPP

#include <specverify/core/status.hpp>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/locate.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] SPECVERIFY_HD constexpr bool fits_blocks(std::uint32_t size) noexcept {
  return size >= 64 && size <= kernel::block_size && size % 64 == 0;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool fits_error(double error) noexcept {
  return kernel::is_finite(error) && error >= 0.0 && error <= 0.5;
}

//! Checks whether the claim about one block of `ids` ids is possible.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE status check_claim(float maximum, float sum, std::uint32_t ids,
                                                                 double error, std::uint32_t first) noexcept {
  constexpr double rounding = 1.0 + 0x1.0p-20;
  if (kernel::is_negative_infinity(maximum)) return {};
  if (kernel::is_nan(maximum)) return {errc::row_has_nan, part::row, first};
  if (kernel::is_positive_infinity(maximum)) return {errc::row_has_positive_infinity, part::row, first};
  const auto claimed = static_cast<double>(sum);  // the largest entry already adds 1
  const bool possible = kernel::is_finite(sum) && claimed * rounding >= 1.0 - error &&
                        claimed <= static_cast<double>(ids) * (1.0 + error) * rounding;
  return possible ? status{} : status{errc::blocks_disagree, part::row, first};
}

// Bounds on Z from the sum of all claims.
inline constexpr double claimed_rounding = 0x1.0p-33;  // rounding of a serial sum of up to 2^18 blocks
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double claimed_lower(double total, double error) noexcept {
  return total / (1.0 + error) * (1.0 - claimed_rounding);
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double claimed_upper(double total, double error) noexcept {
  return total / (1.0 - error) * (1.0 + claimed_rounding);
}

//! Bounds on the ratio of a block's sum of w to the claimed sum. w exceeds e by at most coarse_excess, and the relative
//! error of the claim is at most `error`.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double most_over_claim(double error) noexcept {
  return kernel::coarse_excess * (1.0 + kernel::coarse_margin) / (1.0 - error);
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double least_over_claim(double error) noexcept {
  return (1.0 - kernel::coarse_margin) / (1.0 + error);
}

//! A proposed id, the id's envelope weight w, and S_exact / S: the lane's sum in double over the same sum in float.
struct proposal {
  token_id token = no_token;
  double envelope = 0;
  double correction = 1;
  status why{};  //!< error of a claimed block, if there is no token
};

//! The distribution of a row with claimed blocks.
struct claimed_law {
  double reference;  // the largest maximum of a block
  double temperature;
  double lower;  // lower <= Z <= upper if the claims are correct
  double upper;
  std::uint32_t size;  // ids of the row
};

//! A block that was read and has the claimed maximum.
struct read_block {
  const float* values;
  std::uint32_t size;  // a multiple of 64, padded with forbidden ids
  std::uint32_t first;
  float maximum;
  const float* lanes;  // sums of w relative to the maximum
  double sum;          // sum of the lanes
};

//! Picks a lane and an id in proportion to w. `share` is the claimed sum relative to the row's reference, and
//! `position` is below `share`. The envelope contains share / w(block), so an accepted id follows the distribution e_v
//! for every claim. `entries` must have space for 64.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE proposal propose_in_block(const claimed_law& law, const read_block& block,
                                                                        double share, double position,
                                                                        float* entries) noexcept {
  const double error = (law.upper - law.lower) / (law.upper + law.lower);
  const double shift = kernel::exponential((static_cast<double>(block.maximum) - law.reference) / law.temperature);
  const double most = most_over_claim(error);
  if (block.sum * shift > most * share || block.sum * shift < least_over_claim(error) * share)
    return {no_token, 0, 1, {errc::blocks_disagree, part::row, block.first}};

  position = numeric::product(position, block.sum / share);
  const std::size_t lane = kernel::locate(block.lanes, kernel::lane_count, position);
  if (lane == kernel::lane_count) return {};
  const kernel::envelope<float> weight{block.maximum, kernel::coarse_scale(law.temperature), false};
  double exact = 0;
  std::uint32_t count = 0;
  for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < block.size; i += kernel::lane_count) {
    entries[count] = weight(block.values[i]);
    exact += static_cast<double>(entries[count++]);
  }
  const double correction = exact / static_cast<double>(block.lanes[lane]);
  position = numeric::product(position, correction);
  const std::size_t chosen = kernel::locate(entries, count, position);
  const std::uint32_t id = block.first + static_cast<std::uint32_t>(lane + chosen * kernel::lane_count);
  if (chosen == count || id >= law.size) return {};
  return {static_cast<token_id>(id), static_cast<double>(entries[chosen]) * (share / block.sum) * most, correction, {}};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
