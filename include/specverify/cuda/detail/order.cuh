// SPDX-License-Identifier: Apache-2.0
//! Finds the k-th entry of the total order (integer weight descending, id ascending) and shortens lists to the first k
//! entries, with one thread block.
#ifndef SPECVERIFY_CUDA_DETAIL_ORDER_CUH
#define SPECVERIFY_CUDA_DETAIL_ORDER_CUH

#include <specverify/cuda/detail/threads.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t radix_bins = 256;
inline constexpr std::uint32_t list_capacity = 4096;  // entries per list; twice the maximum that a caller can ask for

struct alignas(16) order_room {
  std::uint32_t bins[radix_bins];
  std::uint32_t per_warp[2][most_warps];  // used in turn, so that one barrier is between two uses
};

//! Entries in ascending id order, in shared memory. While a row is read, `weights` holds keys of logits.
struct entry_list {
  std::uint32_t ids[list_capacity];
  std::uint32_t weights[list_capacity];
};

//! The k-th largest weight and the number of larger weights. The weight is 0 if fewer than k are positive.
struct weight_rank {
  std::uint32_t weight;
  std::uint32_t above;
};

//! Returns the sum of the values of all lanes up to this one.
template <class Count>
[[nodiscard]] __device__ __forceinline__ Count sum_up_to_lane(Count value) noexcept {
  for (std::uint32_t by = 1; by < lanes_per_warp; by *= 2) {
    const Count before = __shfl_up_sync(all_lanes, value, by);
    if (lane_of_thread() >= by) value += before;
  }
  return value;
}

//! Number of entries in lower warps, and in all warps.
struct warp_places {
  std::uint32_t before;
  std::uint32_t all;
};

//! `mine` is the number of entries of this warp, and must be equal in all lanes. `per_warp` has most_warps words of
//! shared memory, which may be overwritten after one more barrier.
[[nodiscard]] __device__ __forceinline__ warp_places places_of_warps(std::uint32_t mine,
                                                                     std::uint32_t* per_warp) noexcept {
  if (lane_of_thread() == 0) per_warp[warp_of_thread()] = mine;
  __syncthreads();
  const std::uint32_t lane = lane_of_thread(), theirs = lane < warps_of_block() ? per_warp[lane] : 0;
  return {__reduce_add_sync(all_lanes, lane < warp_of_thread() ? theirs : 0u), __reduce_add_sync(all_lanes, theirs)};
}

//! A bin, the number of keys in higher bins, and the number of keys in this bin.
struct bin_rank {
  std::uint32_t bin;
  std::uint32_t above;
  std::uint32_t count;
};

//! One step of the search: finds the highest bin where the running count reaches `wanted`, or radix_bins if there is
//! none. Each warp computes it independently. `bins` must be aligned to 16 bytes.
[[nodiscard]] __device__ __forceinline__ bin_rank find_bin(const std::uint32_t* bins, std::uint32_t wanted) noexcept {
  constexpr std::uint32_t per_lane = radix_bins / lanes_per_warp;
  const std::uint32_t top = radix_bins - 1 - lane_of_thread() * per_lane;  // this lane's bins: top, top - 1, ...
  const uint4 upper = *reinterpret_cast<const uint4*>(bins + top - 3);
  const uint4 lower = *reinterpret_cast<const uint4*>(bins + top - 7);
  const std::uint32_t mine[per_lane] = {upper.w, upper.z, upper.y, upper.x, lower.w, lower.z, lower.y, lower.x};
  std::uint32_t sum = 0;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t i = 0; i < per_lane; ++i) sum += mine[i];
  const std::uint32_t through = sum_up_to_lane(sum);
  const std::uint32_t reached = __ballot_sync(all_lanes, through >= wanted);
  const int lane = reached == 0 ? 0 : __ffs(static_cast<int>(reached)) - 1;
  bin_rank found{top, through - sum, mine[0]};
  bool goes_on = true;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t i = 1; i < per_lane; ++i) {
    goes_on = goes_on && found.above + found.count < wanted;
    if (goes_on) found = {found.bin - 1, found.above + found.count, mine[i]};
  }
  const std::uint32_t bin = __shfl_sync(all_lanes, found.bin, lane);
  return {reached == 0 ? radix_bins : bin, __shfl_sync(all_lanes, found.above, lane),
          __shfl_sync(all_lanes, found.count, lane)};
}

//! Keys below `low`, which must be above 0, do not count. No key may be above `high`.
struct key_range {
  std::uint32_t low;
  std::uint32_t high;
};

//! Returns the k-th largest of `size` keys, key_of(i), and a lower bound on the number of keys above it. If `slack` is
//! not negative, the first result may be smaller, but at most k + `slack` keys reach it. Returns {0, 0} if fewer than k
//! keys count. Every thread gets the result.
template <class KeyOf>
[[nodiscard]] __device__ __forceinline__ weight_rank kth_key(std::uint32_t size, std::uint32_t k, const KeyOf& key_of,
                                                             key_range range, int slack, order_room& room) noexcept {
  std::uint32_t span = range.high - range.low;
  std::uint32_t shift = span < radix_bins ? 0 : 24 - static_cast<std::uint32_t>(__clz(static_cast<int>(span)));
  weight_rank rank{range.low, 0};
  SPECVERIFY_UNROLL(1)
  for (;;) {
    __syncthreads();
    for (std::uint32_t bin = threadIdx.x; bin < radix_bins; bin += blockDim.x) room.bins[bin] = 0;
    __syncthreads();
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
      const std::uint32_t above = key_of(i) - rank.weight;  // for smaller keys it is also more than the span
      if (above <= span) atomicAdd(&room.bins[above >> shift], 1u);
    }
    __syncthreads();
    const bin_rank step = find_bin(room.bins, k - rank.above);
    if (step.bin == radix_bins) return {0, 0};  // uniform across the block
    rank = {rank.weight + (step.bin << shift), rank.above + step.above};
    if (shift == 0 || static_cast<int>(rank.above + step.count - k) <= slack) return rank;
    span = (1u << shift) - 1;
    shift = shift < 8 ? 0 : shift - 8;
  }
}

//! Returns the k-th largest of `size` weights, weight_of(i); zeros do not count. Every thread gets the result.
template <class WeightOf>
[[nodiscard]] __device__ __forceinline__ weight_rank kth_weight(std::uint32_t size, std::uint32_t k,
                                                                const WeightOf& weight_of, order_room& room) noexcept {
  return kth_key(size, k, weight_of, {1, 0xFFFFFFFFu}, -1, room);
}

//! Keys of at least `high`, and the first `ties` of the keys of at least `low`.
struct key_cut {
  std::uint32_t low;
  std::uint32_t high;
  std::uint32_t ties;
};

//! Returns the number of keys in a list that are `high` or more. Every thread gets the result.
[[nodiscard]] __device__ __forceinline__ std::uint32_t count_from(const entry_list& list, std::uint32_t size,
                                                                  std::uint32_t high, order_room& room) noexcept {
  std::uint32_t mine = 0;
  for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) mine += list.weights[i] >= high ? 1u : 0u;
  return places_of_warps(__reduce_add_sync(all_lanes, mine), room.per_warp[1]).all;
}

inline constexpr std::uint32_t per_cut = 8;  // entries per thread in a part of a list that is cut

//! This thread's entries of a part of a list; key 0 after the end.
struct list_part {
  std::uint32_t ids[per_cut];
  std::uint32_t keys[per_cut];
};

//! Reads a part. Returns counts of the warp: kept keys, and ties in the upper half.
[[nodiscard]] __device__ __forceinline__ std::uint32_t read_part(const entry_list& list, std::uint32_t size,
                                                                 std::uint32_t from, const key_cut& cut,
                                                                 list_part& part) noexcept {
  int count = 0;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t j = 0; j < per_cut; ++j) {
    const std::uint32_t i = from + j * lanes_per_warp;
    part.keys[j] = i < size ? list.weights[i] : 0;
    part.ids[j] = i < size ? list.ids[i] : 0;
    const std::uint32_t over = __ballot_sync(all_lanes, part.keys[j] >= cut.high);
    const std::uint32_t both = __ballot_sync(all_lanes, part.keys[j] >= cut.low);
    count += __popc(over) + (__popc(both & ~over) << 16);
  }
  return static_cast<std::uint32_t>(count);
}

//! Writes the kept entries of a part. `over`, `equal`: entries of lower warps.
__device__ __forceinline__ void write_part(const list_part& part, std::uint32_t over, std::uint32_t equal,
                                           const key_cut& cut, entry_list& list) noexcept {
  const std::uint32_t below = (1u << lane_of_thread()) - 1;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t j = 0; j < per_cut; ++j) {
    const bool is_over = part.keys[j] >= cut.high;
    const std::uint32_t all_over = __ballot_sync(all_lanes, is_over);
    const std::uint32_t ties = __ballot_sync(all_lanes, part.keys[j] >= cut.low) & ~all_over;
    const std::uint32_t before = equal + static_cast<std::uint32_t>(__popc(ties & below));
    const std::uint32_t taken = before < cut.ties ? before : cut.ties;
    if (is_over || (part.keys[j] >= cut.low && before < cut.ties)) {
      const std::uint32_t at = over + static_cast<std::uint32_t>(__popc(all_over & below)) + taken;
      list.ids[at] = part.ids[j];
      list.weights[at] = part.keys[j];
    }
    over += static_cast<std::uint32_t>(__popc(all_over));
    equal += static_cast<std::uint32_t>(__popc(ties));
  }
}

//! Leaves only the kept entries of a cut in a list, ids still ascending, and returns the number of entries.
[[nodiscard]] __device__ __forceinline__ std::uint32_t keep_entries(entry_list& list, std::uint32_t size,
                                                                    const key_cut& cut, order_room& room) noexcept {
  const std::uint32_t mine = warp_of_thread() * lanes_per_warp * per_cut + lane_of_thread();
  std::uint32_t above = 0, equal = 0, turn = 0;  // entries before this part of the list
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t first = 0; first < size; first += blockDim.x * per_cut, turn ^= 1) {
    list_part part;
    const warp_places places = places_of_warps(read_part(list, size, first + mine, cut, part), room.per_warp[turn]);
    write_part(part, above + (places.before & 0xFFFFu), equal + (places.before >> 16), cut, list);
    above += places.all & 0xFFFFu;
    equal += places.all >> 16;
  }
  __syncthreads();
  return above + (equal < cut.ties ? equal : cut.ties);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
