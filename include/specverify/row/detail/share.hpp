// SPDX-License-Identifier: Apache-2.0
//! The weight that a share of a total asks for, for host and device.
#ifndef SPECVERIFY_ROW_DETAIL_SHARE_HPP
#define SPECVERIFY_ROW_DETAIL_SHARE_HPP

#include <specverify/config.hpp>

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

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
