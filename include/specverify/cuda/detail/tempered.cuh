// SPDX-License-Identifier: Apache-2.0
//! Sums a row's exponentials at several temperatures with one thread block: quick sums in float, and exact sums in the
//! order of the CPU.
#ifndef SPECVERIFY_CUDA_DETAIL_TEMPERED_CUH
#define SPECVERIFY_CUDA_DETAIL_TEMPERED_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/quick_sum.cuh>
#include <specverify/kernel/scalar/log_sum_exp.hpp>
#include <specverify/kernel/scalar/tempered.hpp>
#include <specverify/row/detail/tempered_rest.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t tempered_threads = 512;  // maximum
inline constexpr std::uint32_t asked_at_once = 8;       // temperatures per read of a row
inline constexpr std::uint32_t tempered_lanes = detail::temper_group;

static_assert(tempered_lanes == lanes_per_warp, "a lane of the first warp for each temperature of a group");

struct tempered_room {
  detail::tempered_rest rest;
  double temperatures[tempered_lanes];  // 0: not requested
  double inverses[tempered_lanes];
  double weights[tempered_lanes];  // weights of the token
  double drawn[tempered_lanes];    // uniforms
  double tops[tempered_lanes];     // sums over the largest logit of each lane of the digest
  double partial[asked_at_once * most_warps];
  double totals[asked_at_once];
  std::uint32_t asked[asked_at_once];  // temperatures of the next read
  std::uint32_t asked_count, exact;
  std::uint32_t reads;  // reads of the row so far
  double difference;    // the token's logit minus the largest logit
  bool more;            // whether draws must be decided after the next read
  bool is_last;         // whether this group of draws is the last
  double lanes[tempered_threads];
  double blocks[tempered_threads / kernel::lane_count];
  double total;
};

//! The row of this thread block. It is opened again for each sum, because no thread should hold it while it waits for
//! the bounds.
template <class Scalar>
struct tempered_row {
  const device_batch<Scalar>& batch;
  float maximum;

  [[nodiscard]] __device__ __forceinline__ kernel::row_source<Scalar> open() const noexcept {
    return open_row(batch.rows, batch.transform, blockIdx.x);
  }
  //! Returns the largest logits of the digest's lanes, four per element.
  [[nodiscard]] __device__ __forceinline__ const float4* tops() const noexcept {
    return reinterpret_cast<const float4*>(batch.digests.lane_maxima) + std::size_t{blockIdx.x} * count_of_tops();
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t count_of_tops() const noexcept {
    return batch.digests.blocks * per_block;
  }
};

//! Computes room.tops, one temperature per warp. The caller must put barriers before and after it.
template <class Scalar>
__device__ __forceinline__ void sum_tops(const tempered_row<Scalar>& row, tempered_room& room) noexcept {
  for (std::uint32_t m = warp_of_thread(); m < tempered_lanes; m += warps_of_block()) {
    const double temperature = room.temperatures[m];
    double sum = 0;
    if (temperature > 0.0) {  // uniform across the warp
      const float scale = octaves_a_nat(temperature);
      SPECVERIFY_UNROLL(4)
      for (std::uint32_t i = lane_of_thread(); i < row.count_of_tops(); i += lanes_per_warp) {
        const float4 top = __ldg(row.tops() + i);
        const float first = tempered_power(top.x, row.maximum, scale) + tempered_power(top.y, row.maximum, scale);
        const float last = tempered_power(top.z, row.maximum, scale) + tempered_power(top.w, row.maximum, scale);
        sum = __dadd_rn(sum, static_cast<double>(first + last));
      }
    }
    sum = sum_of_warp(sum);
    if (lane_of_thread() == 0) room.tops[m] = sum;
  }
}

//! Computes room.totals for the first `Temperatures` requested temperatures, in one read of the row. The relative error
//! is kernel::tempered_margin, 2^-16: 2^-18 for sums, 2^-22 for powers, and three roundings of up to 90 octaves.
template <std::uint32_t Temperatures, class Scalar>
__device__ __forceinline__ void sum_quickly(const tempered_row<Scalar>& row, tempered_room& room) noexcept {
  float scales[Temperatures];
  double sums[Temperatures];
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t t = 0; t < Temperatures; ++t) scales[t] = octaves_a_nat(room.temperatures[room.asked[t]]);
  sum_powers(row.open(), row.maximum, scales, sums);
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

//! Returns Z in double by one more read, in the order of kernel::exact_sum. Every thread gets it.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ double sum_exactly(const tempered_row<Scalar>& opened, double inverse,
                                                            tempered_room& room) noexcept {
  const kernel::row_source<Scalar> row = opened.open();
  const kernel::exact_weight weight{static_cast<double>(opened.maximum), inverse, false};
  const std::uint32_t at_once = blockDim.x / kernel::lane_count;
  const std::uint32_t mine = threadIdx.x / kernel::lane_count, lane = threadIdx.x % kernel::lane_count;
  double total = 0;  // sum, valid only in the first thread
  for (std::uint32_t first = 0; first < row.size; first += at_once * kernel::exact_size) {
    double sum = 0;
    SPECVERIFY_UNROLL(4)
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
