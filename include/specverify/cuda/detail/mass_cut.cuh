// SPDX-License-Identifier: Apache-2.0
//! Cuts the total order (integer weight descending, id ascending) at a number of entries or at a mass. One thread block
//! searches the bytes of the weights, as in a radix sort.
#ifndef SPECVERIFY_CUDA_DETAIL_MASS_CUT_CUH
#define SPECVERIFY_CUDA_DETAIL_MASS_CUT_CUH

#include <specverify/cuda/detail/compact.cuh>
#include <specverify/row/detail/share.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

using wide = unsigned long long;

//! Masses as two 32-bit words each, because GPUs add 32-bit words in shared memory with one instruction, but need a
//! retry loop for 64 bits.
struct cut_room {
  std::uint32_t low[radix_bins];
  std::uint32_t high[radix_bins];
  std::uint32_t counts[radix_bins];

  [[nodiscard]] __device__ __forceinline__ wide mass(std::uint32_t bin) const noexcept {
    return wide{high[bin]} << 32 | low[bin];
  }
  //! May run on any number of threads at once. The sum of all masses must be below 2^64.
  __device__ __forceinline__ void add(std::uint32_t bin, std::uint32_t count, wide more) noexcept {
    const auto lower = static_cast<std::uint32_t>(more);
    const std::uint32_t before = atomicAdd(&low[bin], lower);
    const std::uint32_t upper = static_cast<std::uint32_t>(more >> 32) + (before + lower < before ? 1u : 0u);
    if (upper != 0) atomicAdd(&high[bin], upper);
    atomicAdd(&counts[bin], count);
  }
};

//! Consecutive entries of one thread that fall into one bin. One atomic per entry would be slow, because most of a row
//! lies in few bins.
struct bin_entries {
  std::uint32_t bin, count;
  wide mass;

  __device__ __forceinline__ void add(std::uint32_t into, std::uint32_t weight, cut_room& room) noexcept {
    if (into != bin) {
      flush(room);
      *this = {into, 0, 0};
    }
    ++count;
    mass += weight;
  }
  __device__ __forceinline__ void flush(cut_room& room) const noexcept {
    if (count != 0) room.add(bin, count, mass);
  }
};

enum class cut_by : std::uint8_t { count, mass };

//! A cut, and the mass that it keeps.
struct mass_cut {
  entry_cut cut;
  wide kept;
};

//! Next step of a search: a bin (radix_bins if no bin reaches the wanted mass), and the count and mass above it.
struct bin_step {
  std::uint32_t bin;
  wide count, weight;
};

//! Finds the highest bin where the running mass reaches `wanted`. Each warp computes it independently.
[[nodiscard]] __device__ __forceinline__ bin_step find_mass_bin(const cut_room& room, cut_by by, wide wanted) noexcept {
  constexpr std::uint32_t per_lane = radix_bins / lanes_per_warp;
  const std::uint32_t top = radix_bins - 1 - lane_of_thread() * per_lane;  // this lane's bins: top, top - 1, ...
  bin_step sum{top, 0, 0};
  for (std::uint32_t i = 0; i < per_lane; ++i) {
    sum.count += room.counts[top - i];
    sum.weight += room.mass(top - i);
  }
  bin_step above{top, sum_up_to_lane(sum.count), sum_up_to_lane(sum.weight)};
  const bool is_there = (by == cut_by::mass ? above.weight : above.count) >= wanted;
  const std::uint32_t reached = __ballot_sync(all_lanes, is_there);
  const int lane = reached == 0 ? static_cast<int>(lanes_per_warp) - 1 : __ffs(static_cast<int>(reached)) - 1;
  if (reached != 0) {  // uniform across the warp
    above.count -= sum.count;
    above.weight -= sum.weight;
    for (std::uint32_t i = 0; i + 1 < per_lane; ++i) {
      const wide count = above.count + room.counts[above.bin], weight = above.weight + room.mass(above.bin);
      if ((by == cut_by::mass ? weight : count) >= wanted) break;
      above = {above.bin - 1, count, weight};
    }
  }
  const std::uint32_t bin = __shfl_sync(all_lanes, above.bin, lane);
  return {reached == 0 ? radix_bins : bin, __shfl_sync(all_lanes, above.count, lane),
          __shfl_sync(all_lanes, above.weight, lane)};
}

//! Returns the mass of all bins.
[[nodiscard]] __device__ __forceinline__ wide mass_of_bins(const cut_room& room) noexcept {
  wide mine = 0;
  for (std::uint32_t bin = lane_of_thread(); bin < radix_bins; bin += lanes_per_warp) mine += room.mass(bin);
  for (int with = 16; with > 0; with /= 2) mine += __shfl_xor_sync(all_lanes, mine, with);
  return mine;
}

//! Counts the weights whose upper bytes, above `shift`, equal `upper`, by the next byte.
template <class Weights>
__device__ __forceinline__ void count_bytes(const Weights& weights, int shift, std::uint32_t upper,
                                            cut_room& room) noexcept {
  __syncthreads();
  for (std::uint32_t bin = threadIdx.x; bin < radix_bins; bin += blockDim.x)
    room.low[bin] = room.high[bin] = room.counts[bin] = 0;
  __syncthreads();
  const std::uint32_t least = shift == 24 || upper == 0 ? 1 : upper << (shift + 8);
  bin_entries last{0, 0, 0};
  weights.for_each(least, [&](std::uint32_t weight) {
    const bool counts = weight != 0 && (shift == 24 || weight >> (shift + 8) == upper);
    if (counts) last.add(weight >> shift & (radix_bins - 1), weight, room);
  });
  last.flush(room);
  __syncthreads();
}

//! Returns the smallest prefix of entries that reaches a target, or all positive entries if they do not reach it. The
//! target is the number or mass `target`. If `share` is above 0, it is this share of the mass, up to `roundings`
//! (row/detail/share.hpp). weights.for_each(least, add) must call add(w) for each weight of this thread that is at
//! least `least`. Four reads of the weights.
template <class Weights>
[[nodiscard]] __device__ __forceinline__ mass_cut find_cut(const Weights& weights, cut_by by, wide target, double share,
                                                           std::uint32_t roundings, cut_room& room) noexcept {
  bin_step found{0, 0, 0};  // for the bytes so far
  SPECVERIFY_UNROLL(1)
  for (int shift = 24; shift >= 0; shift -= 8) {
    count_bytes(weights, shift, found.bin, room);
    if (shift == 24 && share > 0.0) target = detail::least_of_share(share, mass_of_bins(room), roundings);
    const bin_step step = find_mass_bin(room, by, target - (by == cut_by::mass ? found.weight : found.count));
    if (step.bin == radix_bins) return {{0, 0}, found.weight + step.weight};  // uniform across the block
    found = {found.bin << 8 | step.bin, found.count + step.count, found.weight + step.weight};
  }
  const wide missing = target - (by == cut_by::mass ? found.weight : found.count);
  const wide ties = by == cut_by::mass ? (missing + found.bin - 1) / found.bin : missing;
  return {{found.bin, static_cast<std::uint32_t>(ties)}, found.weight + ties * found.bin};
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
