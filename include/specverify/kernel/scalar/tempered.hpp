// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: computes the exact sums of exponentials of a few entries at several temperatures.
#ifndef SPECVERIFY_KERNEL_SCALAR_TEMPERED_HPP
#define SPECVERIFY_KERNEL_SCALAR_TEMPERED_HPP

#include <specverify/kernel/scalar/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

// maximum relative error of a quick sum of exponentials of floats
inline constexpr double tempered_margin = 0x1.0p-16;

//! Adds sum_i e^(difference_i * inverse) to sums[m] for every inverse temperature; differences must be <= 0. The scalar
//! version is exact.
inline void add_exponentials(exec::seq_policy, const float* differences, std::uint32_t count, const double* inverses,
                             std::uint32_t temperatures, double* sums) noexcept {
  for (std::uint32_t m = 0; m < temperatures; ++m) {
    double sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sum += exponential(static_cast<double>(differences[i]) * inverses[m]);
    sums[m] += sum;
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
