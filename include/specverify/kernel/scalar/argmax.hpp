// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: finds the largest and second largest value of a row in one read. The smaller id wins ties.
#ifndef SPECVERIFY_KERNEL_SCALAR_ARGMAX_HPP
#define SPECVERIFY_KERNEL_SCALAR_ARGMAX_HPP

#include <specverify/core/execution.hpp>
#include <specverify/kernel/block_source.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Results of one read of a row, except sums. The other results are valid only if has_nan is false.
template <class Work>
struct row_extremes {
  Work maximum{};
  Work second{};  //!< largest value of an id other than argmax; only find_maximum sets it
  std::uint32_t argmax = 0;
  bool has_nan = false;
  bool has_negative = false;  //!< a value is below zero; not valid for logits
};

//! Difference between the largest value and the second largest.
struct value_margin {
  double margin = 0;      //!< +infinity if the second largest is -infinity
  bool near_tie = false;  //!< the two largest values differ by at most 2^-20 times the larger magnitude
};

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE value_margin margin_of(double first, double second) noexcept {
  if (is_negative_infinity(second)) return {bits_as<double>(std::uint64_t{0x7FF0000000000000u}), false};
  const double margin = first - second;
  const double a = first < 0.0 ? -first : first;
  const double b = second < 0.0 ? -second : second;
  return {margin, margin <= 0x1.0p-20 * (a > b ? a : b)};
}

template <class Scalar>
[[nodiscard]] inline row_extremes<working<Scalar>> find_maximum(exec::seq_policy,
                                                                const row_source<Scalar>& source) noexcept {
  using work = working<Scalar>;
  row_extremes<work> found;
  found.maximum = found.second = source.forbidden();
  work buffer[block_size];
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const work* values = load(source, first, block_size, buffer);
    for (std::uint32_t i = 0; i < block_size; ++i) {
      const work value = values[i];
      if (is_nan(value)) found.has_nan = true;
      if (value < work{0}) found.has_negative = true;
      if (value > found.maximum) {
        found.second = found.maximum;
        found.maximum = value;
        found.argmax = first + i;
      } else if (value > found.second) {
        found.second = value;
      }
    }
  }
  return found;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
