// SPDX-License-Identifier: Apache-2.0
//! Where a position falls in a list of weights, by serial prefix sums in double.
#ifndef SPECVERIFY_KERNEL_SCALAR_LOCATE_HPP
#define SPECVERIFY_KERNEL_SCALAR_LOCATE_HPP

#include <specverify/config.hpp>

#include <cstddef>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! A proposal is accepted below this share of its exact weight, so that the rounding of envelopes never matters.
inline constexpr double envelope_slack = 1.0 - 0x1.0p-15;

//! The index of the entry at `position`, from which the sum of those before is taken; `count` where none is positive.
//! The last index with a positive entry is taken when rounding carries the position past the end.
template <class Entry>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::size_t locate(const Entry* entries, std::size_t count,
                                                                 double& position) noexcept {
  std::size_t last = count;
  double before = 0, start = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double entry = static_cast<double>(entries[i]);
    if (!(entry > 0.0)) continue;
    last = i;
    start = before;
    before += entry;
    if (before > position) break;
  }
  position -= start;
  return last;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
