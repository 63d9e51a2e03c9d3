// SPDX-License-Identifier: Apache-2.0
//! Entries of a row that are kept, written side by side in id order by a thread block.
#ifndef SPECVERIFY_CUDA_DETAIL_COMPACT_CUH
#define SPECVERIFY_CUDA_DETAIL_COMPACT_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/order.cuh>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! A prefix of the order (value descending, id ascending): all above `value`, and the first `ties` that equal it.
struct entry_cut {
  std::uint32_t value;
  std::uint32_t ties;
};

//! The shorter of two prefixes.
[[nodiscard]] __device__ __forceinline__ entry_cut shorter(entry_cut a, entry_cut b) noexcept {
  if (a.value != b.value) return a.value > b.value ? a : b;
  return {a.value, a.ties < b.ties ? a.ties : b.ties};
}

//! Four neighbouring values; 0 behind the end.
struct four_values {
  std::uint32_t at[per_load];
};

//! Integer weights of a row, four ids at a time. Calls of a thread come with ascending ids.
template <class Scalar>
struct row_weights {
  kernel::row_source<Scalar> row;
  kernel::integer_weight weight;
  bool aligned;
  std::uint32_t bias;

  __device__ __forceinline__ row_weights(const kernel::row_source<Scalar>& source,
                                         const kernel::integer_weight& of) noexcept
      : row(source),
        weight(of),
        aligned(is_aligned(source.data)),
        bias(source.bias_count == 0 ? 0 : source.bias_from(threadIdx.x * per_load)) {}

  [[nodiscard]] __device__ __forceinline__ four_values operator()(std::uint32_t id) noexcept {
    const four_logits four = load_four(row, aligned, id, bias);
    four_values found;
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) found.at[i] = weight(static_cast<double>(four.at[i]));
    return found;
  }
};

//! Calls write(place, index, value) for each entry that is kept, places ascending with indices. `values(index)` gives
//! the values of four entries. One read. Every thread gets the number of entries kept. `per_warp`: most_warps words of
//! shared memory, which may be used again behind a barrier.
template <class Values, class Write>
[[nodiscard]] __device__ __forceinline__ std::uint32_t compact(std::uint32_t size, entry_cut cut, Values& values,
                                                               Write& write, std::uint32_t* per_warp) noexcept {
  std::uint32_t above = 0, equal = 0;  // before this run
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t first = 0; first < size; first += blockDim.x * per_load) {
    const std::uint32_t index = first + threadIdx.x * per_load;
    four_values mine{{0, 0, 0, 0}};
    if (index < size) mine = values(index);
    std::uint32_t count = 0;  // above the cut; equal to its value in the upper half
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)
      count += mine.at[i] > cut.value ? 1u : mine.at[i] == cut.value ? 0x10000u : 0u;
    const std::uint32_t through = sum_up_to_lane(count);
    __syncthreads();
    if (lane_of_thread() == lanes_per_warp - 1) per_warp[warp_of_thread()] = through;
    __syncthreads();
    std::uint32_t before = through - count, all = 0;
    for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) {
      if (warp < warp_of_thread()) before += per_warp[warp];
      all += per_warp[warp];
    }
    std::uint32_t over = above + (before & 0xFFFFu), ties = equal + (before >> 16);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      const bool is_over = mine.at[i] > cut.value, is_tie = mine.at[i] == cut.value;
      if (is_over || (is_tie && ties < cut.ties))
        write(over + (ties < cut.ties ? ties : cut.ties), index + i, mine.at[i]);
      over += is_over ? 1u : 0u;
      ties += is_tie ? 1u : 0u;
    }
    above += all & 0xFFFFu;
    equal += all >> 16;
  }
  return above + (equal < cut.ties ? equal : cut.ties);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
