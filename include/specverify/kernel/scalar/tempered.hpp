// SPDX-License-Identifier: Apache-2.0
//! A few entries at several temperatures, scalar reference: exact sums.
#ifndef SPECVERIFY_KERNEL_SCALAR_TEMPERED_HPP
#define SPECVERIFY_KERNEL_SCALAR_TEMPERED_HPP

#include <specverify/kernel/scalar/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

// relative error, at most, of a quick sum of exponentials of floats
inline constexpr double tempered_margin = 0x1.0p-16;

//! e^difference under a temperature whose coarse_scale is `scale`, in float; differences are <= 0. Off by less than
//! tempered_margin of itself, and 2^-100 where less is meant: coarse_exponential with 2^f in place of 1 + f.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float quick_exponential(float difference, float scale) noexcept {
  const auto bits = bits_as<std::uint32_t>(coarse_exponential(difference, scale));
  const float f = bits_as<float>((bits & 0x7FFFFFu) | 0x3F800000u) - 1.0f;
  float power = 1.8775767e-3f;  // minimax on [0, 1], error 1.5e-7
  power = power * f + 8.9893397e-3f;
  power = power * f + 5.5826318e-2f;
  power = power * f + 2.4015361e-1f;
  power = power * f + 6.9315308e-1f;
  power = power * f + 9.9999994e-1f;
  return power * bits_as<float>(bits & 0xFF800000u);
}

//! Adds sum_i e^(difference_i * inverse) to sums[m] for every inverse temperature; differences are <= 0. Exact here.
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
