// SPDX-License-Identifier: Apache-2.0
//! Sums over a thread block, and W: the sum of a row's integer weights, which no order changes.
#ifndef SPECVERIFY_CUDA_DETAIL_TOTAL_CUH
#define SPECVERIFY_CUDA_DETAIL_TOTAL_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! The sum of the integers of all threads; every thread gets it. `room`: most_warps entries of shared memory, which may
//! be used again at once.
[[nodiscard]] __device__ __forceinline__ std::uint64_t sum_of_block(std::uint64_t mine, std::uint64_t* room) noexcept {
  for (int with = 16; with > 0; with /= 2) mine += __shfl_xor_sync(all_lanes, mine, with);
  __syncthreads();
  if (lane_of_thread() == 0) room[warp_of_thread()] = mine;
  __syncthreads();
  std::uint64_t sum = 0;
  for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) sum += room[warp];
  return sum;
}

//! W, by one read of the row. No logit below `least` has a positive weight. Every thread of the block gets it.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint64_t integer_total(
    const kernel::row_source<Scalar>& row, const kernel::integer_weight& weight, std::uint64_t* room,
    float least = kernel::negative_infinity<float>()) noexcept {
  const bool aligned = is_aligned(row.data);
  std::uint64_t sum = 0;
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(threadIdx.x * per_load);
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t id = threadIdx.x * per_load; id < row.size; id += blockDim.x * per_load) {
    const four_logits four = load_four(row, aligned, id, bias);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)
      if (four.at[i] >= least) sum += weight(static_cast<double>(four.at[i]));
  }
  return sum_of_block(sum, room);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
