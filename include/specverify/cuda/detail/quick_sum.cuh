// SPDX-License-Identifier: Apache-2.0
//! Sums a row's exponentials in float with a proven error bound, with one thread block. Also sums doubles over a block.
#ifndef SPECVERIFY_CUDA_DETAIL_QUICK_SUM_CUH
#define SPECVERIFY_CUDA_DETAIL_QUICK_SUM_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

#include <cmath>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Returns 2^octaves with relative error 2^-22; 0 below 2^-126. No result may depend on the last bits, because GPUs
//! differ in them.
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

//! Converts a difference of logits to octaves under a temperature: log2(e) / T in two floats, both above 0, so that
//! -infinity stays -infinity.
struct octave_scale {
  float high, low;

  [[nodiscard]] static __device__ __forceinline__ octave_scale of(double temperature) noexcept {
    const double scale = kernel::log2_e / temperature;
    auto high = static_cast<float>(scale);
    if (static_cast<double>(high) >= scale) high = kernel::bits_as<float>(kernel::bits_as<std::uint32_t>(high) - 1);
    const auto low = static_cast<float>(scale - static_cast<double>(high));
    return {high, low > 0.0f ? low : 0x1.0p-149f};
  }
  //! Rounds once: the relative error is 2^-24.
  [[nodiscard]] __device__ __forceinline__ float operator()(float difference) const noexcept {
    return fused(difference, high, __fmul_rn(difference, low));
  }
};

[[nodiscard]] __device__ __forceinline__ double sum_of_warp(double mine) noexcept {
  for (int with = 16; with > 0; with /= 2) mine = __dadd_rn(mine, __shfl_xor_sync(all_lanes, mine, with));
  return mine;
}

//! Returns the sum over all threads, in an order that depends on the number of threads; every thread gets it. `room`
//! has most_warps entries.
[[nodiscard]] __device__ __forceinline__ double real_sum_of_block(double mine, double* room) noexcept {
  mine = sum_of_warp(mine);
  __syncthreads();
  if (lane_of_thread() == 0) room[warp_of_thread()] = mine;
  __syncthreads();
  double sum = 0;
  for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) sum = __dadd_rn(sum, room[warp]);
  return sum;
}

inline constexpr std::uint32_t power_loads = 4;      // loads in flight per thread
inline constexpr std::uint32_t groups_in_float = 4;  // groups of 16 ids that a thread sums in float, then in double

//! Returns octaves per nat under a temperature, with relative error 2^-24.
[[nodiscard]] __device__ __forceinline__ float octaves_a_nat(double temperature) noexcept {
  return static_cast<float>(kernel::log2_e / temperature);
}
//! Returns e^(logit - reference) under a temperature: three roundings of 2^-24 of the octaves, and 2^-22 for the power.
[[nodiscard]] __device__ __forceinline__ float tempered_power(float logit, float reference, float scale) noexcept {
  return quick_power(__fmul_rn(logit - reference, scale));
}

//! Adds the powers of a group of logits at every temperature.
template <std::uint32_t Temperatures>
__device__ __forceinline__ void add_powers(const logit_group<power_loads>& group, float reference,
                                           const float (&scales)[Temperatures], float (&part)[Temperatures]) noexcept {
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t k = 0; k < power_loads; ++k) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      SPECVERIFY_UNROLL(8)
      for (std::uint32_t t = 0; t < Temperatures; ++t)
        part[t] += tempered_power(group.at[k].at[i], reference, scales[t]);
    }
  }
}

//! Computes this thread's part of the sums of e^(logit - reference) over a row, at several temperatures in octaves per
//! nat. The relative error is 2^-18 plus the error of the powers. The thread block reads the row once.
template <std::uint32_t Temperatures, class Scalar>
__device__ __forceinline__ void sum_powers(const kernel::row_source<Scalar>& row, float reference,
                                           const float (&scales)[Temperatures], double (&sums)[Temperatures]) noexcept {
  const bool aligned = is_aligned(row.data);
  const std::uint32_t stride = blockDim.x * per_load;
  std::uint32_t id = threadIdx.x * per_load;
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(id);
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t t = 0; t < Temperatures; ++t) sums[t] = 0;
  while (id < row.size) {
    float part[Temperatures] = {};
    SPECVERIFY_UNROLL(1)
    for (std::uint32_t n = 0; n < groups_in_float && id < row.size; ++n, id += power_loads * stride)
      add_powers(load_group<power_loads>(row, aligned, id, stride, bias), reference, scales, part);
    SPECVERIFY_UNROLL(8)
    for (std::uint32_t t = 0; t < Temperatures; ++t) sums[t] += static_cast<double>(part[t]);
  }
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
