// SPDX-License-Identifier: Apache-2.0
//! Finds a position in a list of weights by serial prefix sums in double.
#ifndef SPECVERIFY_KERNEL_SCALAR_LOCATE_HPP
#define SPECVERIFY_KERNEL_SCALAR_LOCATE_HPP

#include <specverify/config.hpp>

#include <cstddef>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! A proposal is accepted only below this share of the exact weight, so that the rounding of envelopes never matters.
inline constexpr double envelope_slack = 1.0 - 0x1.0p-15;

//! Number of entries to sum before comparing with the position.
inline constexpr std::size_t located_run = 8;

//! Adds a run of entries to `sum`, in order. Sets `is_positive` to whether any entry is positive.
template <class Entry>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double sum_run(const Entry* entries, double sum,
                                                             bool& is_positive) noexcept {
  is_positive = false;
  for (std::size_t k = 0; k < located_run; ++k) {
    const double entry = static_cast<double>(entries[k]);
    sum += entry > 0.0 ? entry : 0.0;
    is_positive = is_positive || entry > 0.0;
  }
  return sum;
}

//! Returns the index of the entry that contains `position`, or `count` if no entry is positive. Subtracts the sum of
//! the entries before it from `position`. If rounding puts the position after the end, returns the last positive entry.
template <class Entry>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::size_t locate(const Entry* entries, std::size_t count,
                                                                 double& position) noexcept {
  std::size_t from = 0, last = count;
  double before = 0, start = 0, sum = 0;
  for (std::size_t i = 0; i + located_run <= count; i += located_run) {  // the run with `position`, or the last run
    bool is_positive = false;
    const double next = sum_run(entries + i, sum, is_positive);
    if (is_positive) {
      from = i;
      before = sum;
    }
    sum = next;
    if (sum > position) break;
  }
  for (std::size_t i = from; i < count; ++i) {
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
