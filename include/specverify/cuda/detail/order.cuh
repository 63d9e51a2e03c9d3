// SPDX-License-Identifier: Apache-2.0
//! The total order (integer weight descending, id ascending) by a thread block: its k-th weight, and lists cut to k.
#ifndef SPECVERIFY_CUDA_DETAIL_ORDER_CUH
#define SPECVERIFY_CUDA_DETAIL_ORDER_CUH

#include <specverify/cuda/detail/threads.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t radix_bins = 256;
inline constexpr std::uint32_t list_capacity = 4096;  // entries of a list; twice the most that can be asked for

struct order_room {
  std::uint32_t bins[radix_bins];
  std::uint32_t per_warp[most_warps];
};

//! Entries in ascending id order, in shared memory.
struct entry_list {
  std::uint32_t ids[list_capacity];
  std::uint32_t weights[list_capacity];
};

//! The k-th largest weight and how many are larger; weight 0 where fewer than k are positive.
struct weight_rank {
  std::uint32_t weight;
  std::uint32_t above;
};

//! The sum of the values of all lanes up to this one.
template <class Count>
[[nodiscard]] __device__ __forceinline__ Count sum_up_to_lane(Count value) noexcept {
  for (std::uint32_t by = 1; by < lanes_per_warp; by *= 2) {
    const Count before = __shfl_up_sync(all_lanes, value, by);
    if (lane_of_thread() >= by) value += before;
  }
  return value;
}

//! One step of the search: the highest bin in which `wanted` is reached, and how many are in higher ones. Every warp
//! does it for itself. No bin: radix_bins.
[[nodiscard]] __device__ __forceinline__ weight_rank find_bin(const std::uint32_t* bins,
                                                              std::uint32_t wanted) noexcept {
  constexpr std::uint32_t per_lane = radix_bins / lanes_per_warp;
  const std::uint32_t top = radix_bins - 1 - lane_of_thread() * per_lane;  // this lane's bins: top, top - 1, ...
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < per_lane; ++i) sum += bins[top - i];
  const std::uint32_t through = sum_up_to_lane(sum);
  const std::uint32_t reached = __ballot_sync(all_lanes, through >= wanted);
  const std::uint32_t lane = reached == 0 ? 0 : static_cast<std::uint32_t>(__ffs(static_cast<int>(reached))) - 1;
  std::uint32_t bin = top, above = through - sum;
  for (std::uint32_t i = 0; i + 1 < per_lane && above + bins[bin] < wanted; ++i) above += bins[bin--];
  const std::uint32_t found = __shfl_sync(all_lanes, bin, static_cast<int>(lane));
  above = __shfl_sync(all_lanes, above, static_cast<int>(lane));
  return {reached == 0 ? radix_bins : found, above};
}

//! The k-th largest of `size` weights, weight_of(i), of which zeros do not count. Every thread gets it.
template <class WeightOf>
[[nodiscard]] __device__ __forceinline__ weight_rank kth_weight(std::uint32_t size, std::uint32_t k,
                                                                const WeightOf& weight_of, order_room& room) noexcept {
  weight_rank rank{0, 0};
  for (int shift = 24; shift >= 0; shift -= 8) {
    __syncthreads();
    for (std::uint32_t bin = threadIdx.x; bin < radix_bins; bin += blockDim.x) room.bins[bin] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
      const std::uint32_t weight = weight_of(i);
      const bool counts = weight != 0 && (shift == 24 || weight >> (shift + 8) == rank.weight);
      if (counts) atomicAdd(&room.bins[weight >> shift & (radix_bins - 1)], 1u);
    }
    __syncthreads();
    const weight_rank step = find_bin(room.bins, k - rank.above);
    if (step.weight == radix_bins) return {0, 0};  // the same for all threads
    rank = {rank.weight << 8 | step.weight, rank.above + step.above};
  }
  return rank;
}

//! Cuts a list to the first k of the order, ids still ascending. Returns the weight that later ids must exceed.
[[nodiscard]] __device__ __forceinline__ std::uint32_t cut_list(entry_list& list, std::uint32_t size, std::uint32_t k,
                                                                order_room& room) noexcept {
  const auto weight_of = [&list](std::uint32_t i) { return list.weights[i]; };
  const weight_rank cut = kth_weight(size, k, weight_of, room);
  const std::uint32_t ties = k - cut.above;
  std::uint32_t above = 0, equal = 0;  // before this part of the list
  for (std::uint32_t first = 0; first < size; first += blockDim.x) {
    const std::uint32_t i = first + threadIdx.x;
    const std::uint32_t weight = i < size ? list.weights[i] : 0, id = i < size ? list.ids[i] : 0;
    const std::uint32_t mine = weight > cut.weight ? 1u : weight == cut.weight ? 0x10000u : 0u;
    const std::uint32_t through = sum_up_to_lane(mine);
    __syncthreads();
    if (lane_of_thread() == lanes_per_warp - 1) room.per_warp[warp_of_thread()] = through;
    __syncthreads();
    std::uint32_t before = through - mine, all = 0;
    for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) {
      if (warp < warp_of_thread()) before += room.per_warp[warp];
      all += room.per_warp[warp];
    }
    const std::uint32_t equal_before = equal + (before >> 16);
    if (mine == 1 || (mine != 0 && equal_before < ties)) {
      const std::uint32_t at = above + (before & 0xFFFFu) + (equal_before < ties ? equal_before : ties);
      list.ids[at] = id;
      list.weights[at] = weight;
    }
    above += all & 0xFFFFu;
    equal += all >> 16;
  }
  __syncthreads();
  return cut.weight;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
