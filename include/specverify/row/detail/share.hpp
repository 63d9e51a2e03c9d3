// SPDX-License-Identifier: Apache-2.0
//! Computes the least weight that a truncation keeps, and the weight that is a given share of a total. CPU and GPU code
//! share these functions.
#ifndef SPECVERIFY_ROW_DETAIL_SHARE_HPP
#define SPECVERIFY_ROW_DETAIL_SHARE_HPP

#include <specverify/kernel/scalar/exponential.hpp>
#include <specverify/row/transform.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the least integer that reaches a share of a total, at least 1. The rounding of weights to integers may make
//! a sum too small by at most `roundings` / 2. 2 share * total is rounded once to double; the rest uses integers, so
//! every backend has the same bound. `share`: 0 to 2; `total`: up to 2^56.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t least_of_share(double share, std::uint64_t total,
                                                                           std::uint64_t roundings) noexcept {
  const double bound = share * static_cast<double>(2 * total);
  auto halves = static_cast<std::uint64_t>(bound);
  if (static_cast<double>(halves) < bound) ++halves;
  return halves > roundings ? (halves - roundings + 1) / 2 : 1;
}

//! Returns the least weight that reaches the share of the total of `size` weights; 1 for shares of 0 and below.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t least_above(double share, std::uint64_t total,
                                                                        std::uint32_t size) noexcept {
  if (!(share > 0.0)) return 1;
  const double bounded = share < 2.0 ? share : 2.0;  // shares above 1 are equivalent
  return least_of_share(bounded, total, static_cast<std::uint64_t>(bounded * static_cast<double>(size)) + 2);
}

//! Returns the least weight that min_p keeps: a share of the largest weight, which is exactly 2^31.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t least_of_largest(double share) noexcept {
  return least_of_share(share, kernel::weight_one, 1);
}

//! Returns the maximum number of entries, of `size`, that can each reach a share of the total, allowing for rounding.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint32_t most_above(double share,
                                                                                 std::uint32_t size) noexcept {
  const double bound = 1.01 / share + 2.0;
  return bound < static_cast<double>(size) ? static_cast<std::uint32_t>(bound) : size;
}

//! Returns whether top_k keeps a fixed number of entries.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_counted(const row_truncation& cut,
                                                                        std::uint32_t size) noexcept {
  return cut.top_k != 0 && cut.top_k < size;
}
//! Returns whether top_p is a share of the mass that top_k leaves.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_share_of_largest(const row_truncation& cut,
                                                                                 std::uint32_t size) noexcept {
  return is_counted(cut, size) && cut.order == truncation_order::top_k_then_top_p;
}
//! Returns the number of rounded weights in the total of which top_p is a share.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint32_t roundings_of(const row_truncation& cut,
                                                                                   std::uint32_t size) noexcept {
  return is_share_of_largest(cut, size) ? cut.top_k : size;
}
//! Returns whether the kept set depends on W.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_share_of_total(const row_truncation& cut,
                                                                               std::uint32_t size) noexcept {
  return cut.top_p < 1.0 && !is_share_of_largest(cut, size);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
