// SPDX-License-Identifier: Apache-2.0
//! Truncates rows on a GPU, and stores the kept ids, their exponentials and Z with the digest of a row.
//!
//! The order of entries is integer weight descending, then id ascending. The kept ids are the shortest of three
//! prefixes: the first top_k, the entries with at least the weight for min_p, and the smallest prefix with the share
//! top_p of the mass. Up to max_device_selected ids come from the largest lanes of the digest, as in `select`. If there
//! are more, four reads of the row search for the cut.
//! Reads: after the digest, a top_k up to 2048 takes at most one read, and a second for W. Other truncations take one
//!        read, and four for each of top_k and top_p.
#ifndef SPECVERIFY_CUDA_DETAIL_TRUNCATE_CUH
#define SPECVERIFY_CUDA_DETAIL_TRUNCATE_CUH

#include <specverify/cuda/detail/mass_cut.cuh>
#include <specverify/cuda/detail/totals.cuh>
#include <specverify/cuda/select.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t searched_in_flight = 4;  // loads in flight per thread

struct truncate_room {
  select_room select;
  cut_room cut;
  std::uint64_t sums[most_warps];
  double staged[lanes_per_warp];
};

//! A row that is truncated, and the destination of the result.
template <class Scalar>
struct truncated_row {
  kernel::row_source<Scalar> source;
  kernel::integer_weight weight;
  kernel::exact_weight exact;
  double temperature;
  row_truncation cut;
  token_id* ids;
  double* weights;
  std::uint32_t room;  // maximum number of kept ids

  [[nodiscard]] __device__ __forceinline__ bool is_counted() const noexcept {
    return detail::is_counted(cut, source.size);
  }
  //! Returns whether top_p is a share of the mass that top_k leaves.
  [[nodiscard]] __device__ __forceinline__ bool shares_largest() const noexcept {
    return detail::is_share_of_largest(cut, source.size);
  }
  //! Returns the least mass that is top_p's share of `total`.
  [[nodiscard]] __device__ __forceinline__ wide share_of(wide total) const noexcept {
    return detail::least_of_share(cut.top_p, total, roundings());
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t roundings() const noexcept {
    return detail::roundings_of(cut, source.size);
  }
  //! Returns a logit below which no logit has a weight above `floor`.
  [[nodiscard]] __device__ __forceinline__ float least_of(std::uint32_t floor) const noexcept {
    return least_logit(weight.maximum, temperature, floor);
  }
  //! Returns the cut of min_p.
  [[nodiscard]] __device__ __forceinline__ entry_cut floor() const noexcept {
    if (!(cut.min_p > 0.0)) return {0, 0};
    return {static_cast<std::uint32_t>(detail::least_of_largest(cut.min_p)) - 1, 0};
  }
};

//! Writes the ids of one distribution, up to the capacity.
template <class Scalar>
struct law_writer {
  const truncated_row<Scalar>& row;
  const std::uint32_t* of_index;  // null: an index is an id
  std::uint64_t mass;

  __device__ __forceinline__ void operator()(std::uint32_t place, std::uint32_t index, std::uint32_t weight) noexcept {
    mass += weight;
    if (place >= row.room) return;
    row.ids[place] = static_cast<token_id>(of_index == nullptr ? index : of_index[index]);
  }
};

//! Weights of a list.
struct list_values {
  const entry_list& list;
  std::uint32_t size;

  [[nodiscard]] __device__ __forceinline__ run_values operator()(std::uint32_t index) const noexcept {
    run_values found;
    visit_run(found, index,
              [this](std::uint32_t& weight, std::uint32_t i) { weight = i < size ? list.weights[i] : 0; });
    return found;
  }
  //! Calls add(weight) for each weight.
  template <class Add>
  __device__ __forceinline__ void for_each(std::uint32_t, const Add& add) const noexcept {
    for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) add(list.weights[i]);
  }
};

//! Weights of a row that a search counts.
template <class Scalar>
struct searched_row {
  const truncated_row<Scalar>& row;

  //! Calls add(weight) for all weights of at least `least`, which must be above 0, and for some below it.
  template <class Add>
  __device__ __forceinline__ void for_each(std::uint32_t least, const Add& add) const noexcept {
    const float low = row.least_of(least - 1);
    read_in_groups<searched_in_flight>(row.source, [&](float value, std::uint32_t) {
      if (value >= low) add(row.weight(static_cast<double>(value)));
    });
  }
};

//! Number and mass of a row's kept ids.
struct kept_part {
  std::uint32_t size;
  std::uint64_t mass;
};

//! Cuts a whole row by searches in it.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ kept_part keep_of_row(const truncated_row<Scalar>& row,
                                                               truncate_room& room) noexcept {
  const searched_row<Scalar> weights{row};
  entry_cut cut = row.floor();
  wide largest = 0;
  SPECVERIFY_UNROLL(1)
  for (int search = 0; search < 2; ++search) {  // top_k, then top_p: one copy of the search code
    const bool counted = search == 0;
    if (counted ? !row.is_counted() : !(row.cut.top_p < 1.0)) continue;
    const bool known = counted || row.shares_largest();
    const wide target = counted ? row.cut.top_k : known ? row.share_of(largest) : 1;
    const mass_cut found = find_cut(weights, counted ? cut_by::count : cut_by::mass, target,
                                    known ? 0.0 : row.cut.top_p, row.roundings(), room.cut);
    cut = shorter(cut, found.cut);
    largest = found.kept;
  }
  row_weights<Scalar> values(row.source, row.weight, row.least_of(cut.value == 0 ? 0 : cut.value - 1));
  law_writer<Scalar> write{row, nullptr, 0};
  const std::uint32_t size = compact(row.source.size, cut, values, write, room.select.order.per_warp);
  return {size, sum_of_block(write.mass, room.sums)};
}

//! Cuts a row that keeps a few ids: the first top_k are listed in shared memory.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ kept_part keep_of_list(const truncated_row<Scalar>& row,
                                                                const float* lane_maxima, std::uint32_t blocks,
                                                                truncate_room& room) noexcept {
  const selected_row<Scalar> wanted{row.source, row.weight,      lane_maxima,
                                    blocks,     row.temperature, is_aligned(row.source.data)};
  const entry_list& list = room.select.list;
  const std::uint32_t size = select_row(wanted, row.cut.top_k, room.select).size;
  list_values values{list, size};
  entry_cut cut = row.floor();
  if (row.cut.top_p < 1.0) {
    const wide total = row.shares_largest() ? 0 : integer_total(row.source, row.weight, room.sums, row.least_of(0));
    const wide target = total > 0 ? row.share_of(total) : 1;
    const double share = total > 0 ? 0.0 : row.cut.top_p;
    cut = shorter(cut, find_cut(values, cut_by::mass, target, share, row.roundings(), room.cut).cut);
  }
  law_writer<Scalar> write{row, list.ids, 0};
  const std::uint32_t kept = compact(size, cut, values, write, room.select.order.per_warp);
  return {kept, sum_of_block(write.mass, room.sums)};
}

//! Writes e_v of the kept ids.
template <class Scalar>
__device__ __forceinline__ void write_weights(const truncated_row<Scalar>& row, std::uint32_t kept) noexcept {
  const std::uint32_t count = kept < row.room ? kept : row.room;
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
    row.weights[i] = row.exact(static_cast<double>(row.source.value(static_cast<std::uint32_t>(row.ids[i]))));
}

//! Sums the kept weights in the order of the ids, on the first warp; the first lane gets the sum.
[[nodiscard]] __device__ __forceinline__ double sum_kept(const double* weights, std::uint32_t size,
                                                         double* staged) noexcept {
  double sum = 0;
  for (std::uint32_t first = 0; first < size; first += lanes_per_warp) {
    const std::uint32_t left = size - first;
    if (lane_of_thread() < left) staged[lane_of_thread()] = weights[first + lane_of_thread()];
    __syncwarp();
    for (std::uint32_t i = 0; lane_of_thread() == 0 && i < left && i < lanes_per_warp; ++i)
      sum = __dadd_rn(sum, staged[i]);
    __syncwarp();
  }
  return sum;
}

//! Stores the result of a truncation. The weights must be written before the last barrier.
__device__ __forceinline__ void close_truncated(device_digest& digest, const kept_part& kept, std::uint32_t most,
                                                const double* weights, double* staged) noexcept {
  if (warp_of_thread() != 0) return;
  const bool fits = kept.size <= most;
  const double sum = fits ? sum_kept(weights, kept.size, staged) : 0.0;
  if (lane_of_thread() != 0) return;
  if (!fits) digest.why = {errc::support_too_large, part::row, kept.size};
  digest.truncated = true;
  digest.kept = kept.size;
  digest.total_weight = kept.mass;
  digest.reference = digest.maximum;
  digest.coarse_total = digest.lower = digest.upper = digest.normaliser = sum;
}

[[nodiscard]] __device__ __forceinline__ const row_truncation& truncation_of(const device_transform& transform,
                                                                             std::uint32_t row) noexcept {
  return transform.truncations == nullptr ? transform.truncation : transform.truncations[row];
}

//! Truncates a row. All threads must be able to read the digest at `place`. They can read the kept ids after a barrier.
template <class Scalar>
__device__ __forceinline__ void truncate_row(const kernel::row_source<Scalar>& source, const row_truncation& cut,
                                             const device_digests& digests, std::uint32_t place,
                                             truncate_room& room) noexcept {
  device_digest& digest = digests.rows[place];
  const std::size_t first = std::size_t{place} * digests.kept_capacity;
  const double temperature = digest.temperature;
  const auto maximum = static_cast<double>(digest.maximum);
  const truncated_row<Scalar> row{source,
                                  {maximum, kernel::weight_scale(temperature), false},
                                  {maximum, 1.0 / temperature, false},
                                  temperature,
                                  cut,
                                  digests.kept_ids + first,
                                  digests.kept_weights + first,
                                  digests.kept_capacity};
  const float* const maxima = digests.lane_maxima + std::size_t{place} * digests.blocks * kernel::lane_count;
  const bool is_listed = row.is_counted() && cut.top_k <= max_device_selected;
  const kept_part kept = is_listed ? keep_of_list(row, maxima, digests.blocks, room) : keep_of_row(row, room);
  __syncthreads();
  write_weights(row, kept.size);
  __syncthreads();
  close_truncated(digest, kept, row.room, row.weights, room.staged);
}

//! Runs after the digests, one thread block per row.
template <class Scalar>
__global__ void __launch_bounds__(select_threads, 1) truncate_kernel(device_batch<Scalar> batch) {
  __shared__ truncate_room room;
  const std::uint32_t number = blockIdx.x;
  device_digest& digest = batch.digests.rows[number];
  const row_truncation cut = truncation_of(batch.transform, number);
  const status why = digest.why;
  const bool one_hot = why.ok() && digest.one_hot;
  __syncthreads();  // the status may be written from here on
  if (!cut.valid() && why.code != errc::invalid_temperature) {
    if (threadIdx.x == 0) digest.why = {errc::invalid_truncation, part::row, 0};
    return;
  }
  if (!why.ok() || one_hot || !cut.active()) return;  // uniform across the block
  truncate_row(open_row(batch.rows, batch.transform, number), cut, batch.digests, number, room);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
