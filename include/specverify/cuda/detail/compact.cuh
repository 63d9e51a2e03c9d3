// SPDX-License-Identifier: Apache-2.0
//! Writes the kept entries of a row to contiguous memory in id order, with one thread block.
#ifndef SPECVERIFY_CUDA_DETAIL_COMPACT_CUH
#define SPECVERIFY_CUDA_DETAIL_COMPACT_CUH

#include <specverify/cuda/detail/bar.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! A prefix of the order (value descending, id ascending): all above `value`, and the first `ties` entries that equal
//! it.
struct entry_cut {
  std::uint32_t value;
  std::uint32_t ties;
};

//! Returns the shorter of two prefixes.
[[nodiscard]] __device__ __forceinline__ entry_cut shorter(entry_cut a, entry_cut b) noexcept {
  if (a.value != b.value) return a.value > b.value ? a : b;
  return {a.value, a.ties < b.ties ? a.ties : b.ties};
}

inline constexpr std::uint32_t compact_loads = 4;                             // loads in flight per thread
inline constexpr std::uint32_t per_warp_run = compact_loads * per_warp_load;  // neighbouring entries per warp

//! Values of a thread's entries of a run: four at each of index, index + per_warp_load, ...; 0 after the end.
struct run_values {
  std::uint32_t at[compact_loads][per_load];
};

//! Returns the index of this thread's first entry in the warp's first run.
[[nodiscard]] __device__ __forceinline__ std::uint32_t first_of_run() noexcept {
  return warp_of_thread() * per_warp_run + lane_of_thread() * per_load;
}

//! Calls visit(value, index) for each entry of a run.
template <class Values, class Visit>
__device__ __forceinline__ void visit_run(Values& run, std::uint32_t index, const Visit& visit) noexcept {
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t k = 0; k < compact_loads; ++k) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) visit(run.at[k][i], index + k * per_warp_load + i);
  }
}

//! Returns value_of(logit) for each logit of a run.
template <class ValueOf>
[[nodiscard]] __device__ __forceinline__ run_values run_of(const logit_group<compact_loads>& group,
                                                           const ValueOf& value_of) noexcept {
  run_values found;
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t k = 0; k < compact_loads; ++k) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) found.at[k][i] = value_of(group.at[k].at[i]);
  }
  return found;
}

//! Loads the logits of a run. A thread must call it with ascending ids. It prefetches the next run.
template <class Scalar>
struct row_runs {
  kernel::row_source<Scalar> row;
  bool aligned;
  std::uint32_t bias;

  explicit __device__ __forceinline__ row_runs(const kernel::row_source<Scalar>& source) noexcept
      : row(source),
        aligned(is_aligned(source.data)),
        bias(source.bias_count == 0 ? 0 : source.bias_from(first_of_run())) {}

  [[nodiscard]] __device__ __forceinline__ logit_group<compact_loads> operator()(std::uint32_t id) noexcept {
    const std::uint32_t run = id - lane_of_thread() * per_load, next = run + warps_of_block() * per_warp_run;
    ask_for_line(row, next + lane_of_thread() * (per_warp_run / lanes_per_warp));
    return load_group<compact_loads>(row, aligned, id, per_warp_load, bias);
  }
};

//! Integer weights of a row; 0 for logits below `least`.
template <class Scalar>
struct row_weights {
  row_runs<Scalar> runs;
  kernel::integer_weight weight;
  float least;

  __device__ __forceinline__ row_weights(const kernel::row_source<Scalar>& source, const kernel::integer_weight& of,
                                         float above) noexcept
      : runs(source), weight(of), least(above) {}

  [[nodiscard]] __device__ __forceinline__ run_values operator()(std::uint32_t id) noexcept {
    const logit_group<compact_loads> group = runs(id);
    return run_of(group, [this](float value) { return value >= least ? weight(static_cast<double>(value)) : 0; });
  }
};

//! Returns a byte for each load of a warp: the number of entries above a cut, and in the upper half, the number that
//! equal it.
[[nodiscard]] __device__ __forceinline__ std::uint64_t count_run(const run_values& mine, entry_cut cut) noexcept {
  std::uint32_t above = 0, equal = 0;
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t k = 0; k < compact_loads; ++k) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      above += (mine.at[k][i] > cut.value ? 1u : 0u) << (8 * k);
      equal += (mine.at[k][i] == cut.value ? 1u : 0u) << (8 * k);
    }
  }
  return std::uint64_t{equal} << 32 | above;
}

//! Writes the kept entries of a run. `places` must have the numbers of kept entries before this warp.
template <class Write>
__device__ __forceinline__ void write_run(const run_values& mine, std::uint32_t index, entry_cut cut, entry_cut places,
                                          Write& write) noexcept {
  const std::uint64_t counts = count_run(mine, cut), through = sum_up_to_lane(counts), before = through - counts;
  const std::uint64_t all = __shfl_sync(all_lanes, through, lanes_per_warp - 1);
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t k = 0; k < compact_loads; ++k) {
    std::uint32_t over = places.value + static_cast<std::uint32_t>(before >> (8 * k) & 255u);
    std::uint32_t ties = places.ties + static_cast<std::uint32_t>(before >> (8 * k + 32) & 255u);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      const std::uint32_t value = mine.at[k][i];
      const bool is_over = value > cut.value, is_tie = value == cut.value;
      if (is_over || (is_tie && ties < cut.ties))
        write(over + (ties < cut.ties ? ties : cut.ties), index + k * per_warp_load + i, value);
      over += is_over ? 1u : 0u;
      ties += is_tie ? 1u : 0u;
    }
    places.value += static_cast<std::uint32_t>(all >> (8 * k) & 255u);
    places.ties += static_cast<std::uint32_t>(all >> (8 * k + 32) & 255u);
  }
}

//! Calls write(place, index, value) for each kept entry. `place` is the number of kept entries with smaller indexes.
//! `values(index)` must return the values of a run. One read. Every thread gets the number of kept entries. `per_warp`
//! is two rows of most_warps words of shared memory, which may be reused after a barrier.
template <class Values, class Write>
[[nodiscard]] __device__ __forceinline__ std::uint32_t compact(std::uint32_t size, entry_cut cut, Values& values,
                                                               Write& write,
                                                               std::uint32_t (&per_warp)[2][most_warps]) noexcept {
  std::uint32_t above = 0, equal = 0, turn = 0;  // entries before this round of runs
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t first = 0; first < size; first += warps_of_block() * per_warp_run, turn ^= 1) {
    const std::uint32_t index = first + first_of_run();
    run_values mine{};
    if (index < size) mine = values(index);
    std::uint32_t over = 0, ties = 0;
    visit_run(mine, index, [&](std::uint32_t value, std::uint32_t) {
      over += value > cut.value ? 1u : 0u;
      ties += value == cut.value ? 1u : 0u;
    });
    const std::uint32_t count = __reduce_add_sync(all_lanes, over | ties << 16);
    const warp_places places = places_of_warps(count, per_warp[turn]);
    const bool has_ties = equal < cut.ties && count >> 16 != 0;  // uniform across the warp
    const entry_cut before{above + (places.before & 0xFFFFu), equal + (places.before >> 16)};
    if ((count & 0xFFFFu) != 0 || has_ties) write_run(mine, index, cut, before, write);
    above += places.all & 0xFFFFu;
    equal += places.all >> 16;
  }
  return above + (equal < cut.ties ? equal : cut.ties);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
