// SPDX-License-Identifier: Apache-2.0
//! Powers of two in float for sums of exponentials whose error is certified, and sums of doubles over a block.
#ifndef SPECVERIFY_CUDA_DETAIL_QUICK_SUM_CUH
#define SPECVERIFY_CUDA_DETAIL_QUICK_SUM_CUH

#include <specverify/cuda/detail/threads.cuh>
#include <specverify/kernel/scalar/exponential.hpp>

#include <cmath>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! 2^octaves to 2^-22 of itself; 0 below 2^-126. Cards differ in its last bits, so that no result may depend on them.
[[nodiscard]] __device__ __forceinline__ float quick_power(float octaves) noexcept {
#if defined(__CUDA_ARCH__)
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(octaves));
  return power;
#else
  return std::exp2(octaves);
#endif
}

[[nodiscard]] __device__ __forceinline__ float fused(float a, float b, float c) noexcept {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

//! Octaves for a difference of logits under a temperature: log2(e) / T in two floats, both above 0, so that -infinity
//! stays what it is.
struct octave_scale {
  float high, low;

  [[nodiscard]] static __device__ __forceinline__ octave_scale of(double temperature) noexcept {
    const double scale = kernel::log2_e / temperature;
    auto high = static_cast<float>(scale);
    if (static_cast<double>(high) >= scale) high = kernel::bits_as<float>(kernel::bits_as<std::uint32_t>(high) - 1);
    const auto low = static_cast<float>(scale - static_cast<double>(high));
    return {high, low > 0.0f ? low : 0x1.0p-149f};
  }
  //! To one rounding, 2^-24 of itself.
  [[nodiscard]] __device__ __forceinline__ float operator()(float difference) const noexcept {
    return fused(difference, high, __fmul_rn(difference, low));
  }
};

[[nodiscard]] __device__ __forceinline__ double sum_of_warp(double mine) noexcept {
  for (int with = 16; with > 0; with /= 2) mine = __dadd_rn(mine, __shfl_xor_sync(all_lanes, mine, with));
  return mine;
}

//! The sum of the numbers of all threads, in an order that depends on their number; every thread gets it. `room`:
//! most_warps entries.
[[nodiscard]] __device__ __forceinline__ double real_sum_of_block(double mine, double* room) noexcept {
  mine = sum_of_warp(mine);
  __syncthreads();
  if (lane_of_thread() == 0) room[warp_of_thread()] = mine;
  __syncthreads();
  double sum = 0;
  for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) sum = __dadd_rn(sum, room[warp]);
  return sum;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
