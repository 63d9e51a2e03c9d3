// SPDX-License-Identifier: Apache-2.0
//! What a truncation asks for, and the weight that a share of a total asks for; for host and device.
#ifndef SPECVERIFY_ROW_DETAIL_SHARE_HPP
#define SPECVERIFY_ROW_DETAIL_SHARE_HPP

#include <specverify/row/transform.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The smallest integer t with double(t) >= share * double(total), at least 1. `share`: 0 to 2, so that t fits.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t least_of_share(double share, std::uint64_t total) noexcept {
  const double bound = share * static_cast<double>(total);
  auto target = static_cast<std::uint64_t>(bound);
  if (static_cast<double>(target) < bound) ++target;
  return target == 0 ? 1 : target;
}

//! Whether the first entries of the order are kept, whatever they hold.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_counted(const row_truncation& cut,
                                                                        std::uint32_t size) noexcept {
  return cut.top_k != 0 && cut.top_k < size;
}
//! Whether top_p is a share of what top_k leaves.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_share_of_largest(const row_truncation& cut,
                                                                                 std::uint32_t size) noexcept {
  return is_counted(cut, size) && cut.order == truncation_order::top_k_then_top_p;
}
//! Whether what is kept depends on W.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool is_share_of_total(const row_truncation& cut,
                                                                               std::uint32_t size) noexcept {
  return cut.top_p < 1.0 && !is_share_of_largest(cut, size);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
