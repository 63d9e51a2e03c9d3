// SPDX-License-Identifier: Apache-2.0
//! Provides operations of all threads of a block: the largest value with its id, the least id, sums.
//!
//! Blocks must be one-dimensional and have whole warps. All threads of the warp or block must call each function.
#ifndef SPECVERIFY_CUDA_DETAIL_THREADS_CUH
#define SPECVERIFY_CUDA_DETAIL_THREADS_CUH

#include <specverify/core/numeric.hpp>
#include <specverify/cuda/detail/compiler.cuh>

#include <cstdint>

//! Unrolls a loop whose arrays must stay in registers, or whose loads must be in flight together.
#if defined(__CUDACC__)
#define SPECVERIFY_UNROLL_TEXT(text) _Pragma(#text)
#define SPECVERIFY_UNROLL(times) SPECVERIFY_UNROLL_TEXT(unroll times)
#else
#define SPECVERIFY_UNROLL(times)
#endif
//! A device function that is not inlined, because otherwise its registers would add to the registers of the caller.
#if defined(__CUDACC__)
#define SPECVERIFY_DEVICE_CALL inline __device__ __noinline__
#else
#define SPECVERIFY_DEVICE_CALL inline __device__
#endif

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t all_lanes = 0xFFFFFFFFu;
inline constexpr std::uint32_t lanes_per_warp = 32;
inline constexpr std::uint32_t most_warps = 32;
inline constexpr std::uint32_t no_id = 0xFFFFFFFFu;

[[nodiscard]] __device__ __forceinline__ std::uint32_t lane_of_thread() noexcept {
  return threadIdx.x % lanes_per_warp;
}
[[nodiscard]] __device__ __forceinline__ std::uint32_t warp_of_thread() noexcept {
  return threadIdx.x / lanes_per_warp;
}
[[nodiscard]] __device__ __forceinline__ std::uint32_t warps_of_block() noexcept { return blockDim.x / lanes_per_warp; }

//! Returns the larger value, or NaN if one of them is NaN. For -0 and +0 it may return either.
[[nodiscard]] __device__ __forceinline__ float larger_or_nan(float a, float b) noexcept {
#if defined(__CUDA_ARCH__)
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
#else
  return b > a || numeric::is_nan(b) ? b : a;
#endif
}

//! The largest value so far and the least id that has it. -0 and +0 are equal; `value` has the sign of the least id's
//! value.
struct best_entry {
  float value;
  std::uint32_t id;
};

[[nodiscard]] __device__ __forceinline__ best_entry better(best_entry a, best_entry b) noexcept {
  const bool second = b.value > a.value || (!(a.value > b.value) && b.id < a.id);
  return second ? b : a;
}

//! Returns the best entry of a warp; every lane gets it. Values must not be NaN.
[[nodiscard]] __device__ __forceinline__ best_entry best_of_warp(best_entry mine) noexcept {
  for (int with = 16; with > 0; with /= 2) {
    const best_entry other{__shfl_xor_sync(all_lanes, mine.value, with), __shfl_xor_sync(all_lanes, mine.id, with)};
    mine = better(mine, other);
  }
  return mine;
}

//! Returns the best entry of a block; every thread gets it. `room` has most_warps entries of shared memory, which can
//! be reused immediately.
[[nodiscard]] __device__ __forceinline__ best_entry best_of_block(best_entry mine, best_entry* room) noexcept {
  mine = best_of_warp(mine);
  __syncthreads();
  if (lane_of_thread() == 0) room[warp_of_thread()] = mine;
  __syncthreads();
  const std::uint32_t lane = lane_of_thread();
  return best_of_warp(room[lane < warps_of_block() ? lane : 0]);
}

//! Returns the least id of a block; every thread gets it.
[[nodiscard]] __device__ __forceinline__ std::uint32_t least_of_block(std::uint32_t mine,
                                                                      std::uint32_t* room) noexcept {
  __syncthreads();
  if (threadIdx.x == 0) *room = no_id;
  __syncthreads();
  if (mine != no_id) atomicMin(room, mine);
  __syncthreads();
  return *room;
}

//! Returns the sum of the integers of all threads; every thread gets it. `room` has most_warps entries of shared
//! memory, which can be reused immediately.
[[nodiscard]] __device__ __forceinline__ std::uint64_t sum_of_block(std::uint64_t mine, std::uint64_t* room) noexcept {
  for (int with = 16; with > 0; with /= 2) mine += __shfl_xor_sync(all_lanes, mine, with);
  __syncthreads();
  if (lane_of_thread() == 0) room[warp_of_thread()] = mine;
  __syncthreads();
  std::uint64_t sum = 0;
  for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) sum += room[warp];
  return sum;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
