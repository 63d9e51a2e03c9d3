// SPDX-License-Identifier: Apache-2.0
//! Sums of a row at several temperatures by a thread block: quick ones in float, and exact ones in the host's order.
#ifndef SPECVERIFY_CUDA_DETAIL_TEMPERED_CUH
#define SPECVERIFY_CUDA_DETAIL_TEMPERED_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/quick_sum.cuh>
#include <specverify/kernel/scalar/log_sum_exp.hpp>
#include <specverify/kernel/scalar/tempered.hpp>
#include <specverify/row/detail/tempered_rest.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t tempered_threads = 256;  // at most
inline constexpr std::uint32_t asked_at_once = 8;       // temperatures of one read of a row
inline constexpr std::uint32_t loads_in_float = 64;     // that a thread sums before they go to a double
inline constexpr std::uint32_t tempered_lanes = detail::temper_group;

static_assert(tempered_lanes == lanes_per_warp, "a lane of the first warp for each temperature of a group");

struct tempered_room {
  detail::tempered_rest rest;
  double temperatures[tempered_lanes];  // 0: not asked for
  double inverses[tempered_lanes];
  double weights[tempered_lanes];  // of the token
  double drawn[tempered_lanes];    // uniforms
  double tops[tempered_lanes];     // sums over the largest logit of each lane of the digest
  double partial[asked_at_once * most_warps];
  double totals[asked_at_once];
  std::uint32_t asked[asked_at_once];  // temperatures of the next read
  std::uint32_t asked_count, exact;
  double lanes[tempered_threads];
  double blocks[tempered_threads / kernel::lane_count];
  double total;
};

//! A row that is asked for sums.
template <class Scalar>
struct tempered_row {
  kernel::row_source<Scalar> source;
  const float* lane_maxima;
  std::uint32_t lanes;
  float maximum;
  bool aligned;
};

//! room.tops, a temperature a warp. The caller's barriers stand around it.
template <class Scalar>
__device__ __forceinline__ void sum_tops(const tempered_row<Scalar>& row, tempered_room& room) noexcept {
  for (std::uint32_t m = warp_of_thread(); m < tempered_lanes; m += warps_of_block()) {
    const double temperature = room.temperatures[m];
    double sum = 0;
    if (temperature > 0.0) {  // the same for the warp
      const float scale = kernel::coarse_scale(temperature);
      for (std::uint32_t i = lane_of_thread(); i < row.lanes; i += lanes_per_warp) {
        const float top = row.lane_maxima[i];
        if (kernel::is_finite(top)) sum += static_cast<double>(kernel::quick_exponential(top - row.maximum, scale));
      }
    }
    sum = sum_of_warp(sum);
    if (lane_of_thread() == 0) room.tops[m] = sum;
  }
}

//! One read of the row: room.totals of the first `Temperatures` that are asked, to kernel::tempered_margin.
template <std::uint32_t Temperatures, class Scalar>
__device__ __forceinline__ void sum_quickly(const tempered_row<Scalar>& row, tempered_room& room) noexcept {
  float scales[Temperatures];
  double sums[Temperatures];
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t t = 0; t < Temperatures; ++t) {
    scales[t] = kernel::coarse_scale(room.temperatures[room.asked[t]]);
    sums[t] = 0;
  }
  std::uint32_t id = threadIdx.x * per_load;
  std::uint32_t bias = row.source.bias_count == 0 ? 0 : row.source.bias_from(id);
  while (id < row.source.size) {
    float part[Temperatures] = {};
    SPECVERIFY_UNROLL(1)
    for (std::uint32_t n = 0; n < loads_in_float && id < row.source.size; ++n, id += blockDim.x * per_load) {
      const four_logits four = load_four(row.source, row.aligned, id, bias);
      SPECVERIFY_UNROLL(4)
      for (std::uint32_t i = 0; i < per_load; ++i) {
        const float difference = four.at[i] - row.maximum;
        SPECVERIFY_UNROLL(8)
        for (std::uint32_t t = 0; t < Temperatures; ++t) part[t] += kernel::quick_exponential(difference, scales[t]);
      }
    }
    SPECVERIFY_UNROLL(8)
    for (std::uint32_t t = 0; t < Temperatures; ++t) sums[t] += static_cast<double>(part[t]);
  }
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t t = 0; t < Temperatures; ++t) {
    const double sum = sum_of_warp(sums[t]);
    if (lane_of_thread() == 0) room.partial[t * most_warps + warp_of_thread()] = sum;
  }
  __syncthreads();
  if (threadIdx.x < Temperatures) {
    double total = 0;
    for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp)
      total += room.partial[threadIdx.x * most_warps + warp];
    room.totals[threadIdx.x] = total;
  }
  __syncthreads();
}

//! Z in double by one more read, in the order of kernel::exact_sum. Every thread gets it.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ double sum_exactly(const kernel::row_source<Scalar>& row,
                                                            const kernel::exact_weight& weight,
                                                            tempered_room& room) noexcept {
  const std::uint32_t at_once = blockDim.x / kernel::lane_count;
  const std::uint32_t mine = threadIdx.x / kernel::lane_count, lane = threadIdx.x % kernel::lane_count;
  double total = 0;  // of the first thread
  for (std::uint32_t first = 0; first < row.size; first += at_once * kernel::exact_size) {
    double sum = 0;
    for (std::uint32_t i = 0; i < kernel::exact_size; i += kernel::lane_count) {
      const std::uint32_t id = first + mine * kernel::exact_size + i + lane;
      sum = __dadd_rn(sum, id < row.size ? weight(static_cast<double>(row.value(id))) : 0.0);
    }
    room.lanes[threadIdx.x] = sum;
    __syncwarp();
    if (lane == 0) room.blocks[mine] = kernel::lane_tree(room.lanes + threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0)
      for (std::uint32_t b = 0; b < at_once; ++b) total = __dadd_rn(total, room.blocks[b]);
    __syncthreads();
  }
  if (threadIdx.x == 0) room.total = total;
  __syncthreads();
  return room.total;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
