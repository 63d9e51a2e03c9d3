// SPDX-License-Identifier: Apache-2.0
//! The largest entries of each row of a batch, on a GPU, with their integer weights: what `top_k` keeps on the host.
//!
//! Use it after digest.cuh, on the same rows and transform.
//! Symbols:    w_v = integer weights (row/integer_weights.hpp), K = how many are wanted.
//! Shape:      a thread block a row, a warp a block of 1024 ids. The K-th largest of the digest's lane maxima is a sure
//!             lower bound of the K-th entry, so that only blocks with a lane above it are read. What reaches it is
//!             listed in id order in shared memory; a full list is cut to K, and its last weight is the next bound.
//! Guarantees: ids and weights of the total order (w descending, id ascending), as exec::seq gathers them, bit for bit;
//!             ids come ascending; of a truncated row those that it keeps. At most one read of a row. No allocation, no
//!             synchronisation, nothing is read back.
//! See:        docs/algorithms/cuda.md, docs/decisions/0009-lane-tops.md, tests/device/select_test.cpp
#ifndef SPECVERIFY_CUDA_SELECT_CUH
#define SPECVERIFY_CUDA_SELECT_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/order.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_TYPES_BEGIN
inline constexpr std::uint32_t max_device_selected = 2048;

namespace cuda_detail {

inline constexpr std::uint32_t select_threads = 256;  // at most; a warp reads a block of 1024 ids
inline constexpr std::uint32_t per_warp_load = lanes_per_warp * per_load;
inline constexpr std::uint32_t warp_loads = kernel::block_size / per_warp_load;

struct select_room {
  entry_list list;
  order_room order;
  std::uint32_t counts[most_warps];
};

//! A row that entries are selected from.
template <class Scalar>
struct selected_row {
  kernel::row_source<Scalar> source;
  kernel::integer_weight weight;
  const float* lane_maxima;
  std::uint32_t blocks;
  double temperature;
  bool aligned;
};

//! A row of a batch whose digest is ok and not one-hot.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ selected_row<Scalar> open_selected(const device_batch<Scalar>& batch,
                                                                            std::uint32_t number) noexcept {
  const device_digests& digests = batch.digests;
  const device_digest& digest = digests.rows[number];
  selected_row<Scalar> row;
  row.source = open_row(batch.rows, batch.transform, number);
  row.weight = {static_cast<double>(digest.maximum), kernel::weight_scale(digest.temperature), false};
  row.lane_maxima = digests.lane_maxima + std::size_t{number} * digests.blocks * kernel::lane_count;
  row.blocks = digests.blocks;
  row.temperature = digest.temperature;
  row.aligned = is_aligned(row.source.data);
  return row;
}

//! No logit below this has a weight above `floor`. A weight is at most 0.6 above 2^31 e^(-x), and log2 of a float is
//! at least its exponent plus its fraction.
[[nodiscard]] __device__ __forceinline__ float least_logit(double maximum, double temperature,
                                                           std::uint32_t floor) noexcept {
  const auto weight = static_cast<float>(static_cast<double>(floor) + 0.4);
  const std::uint32_t bits = kernel::bits_as<std::uint32_t>(weight);
  const double octaves = __dmul_rn(static_cast<double>(bits), 0x1.0p-23) - 127.0;
  const double low = maximum - (31.001 - octaves) * temperature / (kernel::log2_e * 0.999999);
  const double lower = low - __dmul_rn(low < 0.0 ? -low : low, 0x1.0p-20);
  return lower > -3.0e38 ? static_cast<float>(lower) : kernel::negative_infinity<float>();
}

//! The weights of a thread's 32 ids of a block: entry 4 s + i is the id 128 s + 4 lane + i. They stay in registers.
struct warp_entries {
  std::uint32_t weights[warp_loads * per_load];  // 0 below the bar that they were read with

  //! Bit b: entry b is above `floor`, and of those in `among`.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t above(std::uint32_t floor,
                                                               std::uint32_t among) const noexcept {
    std::uint32_t bits = 0;
    SPECVERIFY_UNROLL(32)
    for (std::uint32_t i = 0; i < warp_loads * per_load; ++i) bits |= (weights[i] > floor ? 1u : 0u) << i;
    return bits & among;
  }
};

//! Reads a block, where one of its lanes is above `floor`. By a whole warp.
template <class Scalar>
__device__ __forceinline__ void read_entries(const selected_row<Scalar>& row, std::uint32_t block, std::uint32_t floor,
                                             warp_entries& found) noexcept {
  SPECVERIFY_UNROLL(32)
  for (std::uint32_t i = 0; i < warp_loads * per_load; ++i) found.weights[i] = 0;
  const std::uint32_t lane = lane_of_thread();
  const bool reaches = block < row.blocks && lane < kernel::lane_count &&
                       row.weight(static_cast<double>(row.lane_maxima[block * kernel::lane_count + lane])) > floor;
  if (__ballot_sync(all_lanes, reaches) == 0) return;  // the same for the warp
  const float low = least_logit(row.weight.maximum, row.temperature, floor);
  const std::uint32_t first = block * kernel::block_size + lane * per_load;
  std::uint32_t bias = row.source.bias_count == 0 ? 0 : row.source.bias_from(first);
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t step = 0; step < warp_loads; ++step) {
    const std::uint32_t id = first + step * per_warp_load;
    if (id >= row.source.size) continue;
    const four_logits four = load_four(row.source, row.aligned, id, bias);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)
      if (four.at[i] >= low) found.weights[step * per_load + i] = row.weight(static_cast<double>(four.at[i]));
  }
}

//! For each of the eight loads of a warp, a byte: how many entries lanes below this one have. `all`: of all lanes.
[[nodiscard]] __device__ __forceinline__ std::uint64_t entries_before(std::uint32_t bits, std::uint64_t& all) noexcept {
  std::uint64_t mine = 0;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t step = 0; step < warp_loads; ++step) {
    const int count = __popc(bits >> (step * per_load) & 15u);
    mine |= static_cast<std::uint64_t>(count) << (8 * step);
  }
  const std::uint64_t through = sum_up_to_lane(mine);
  all = __shfl_sync(all_lanes, through, lanes_per_warp - 1);
  return through - mine;
}

//! Lists this thread's entries whose places, from `at` on for its warp, are inside the list; the others come back.
[[nodiscard]] __device__ __forceinline__ std::uint32_t list_entries(const warp_entries& entries, std::uint32_t block,
                                                                    std::uint32_t bits, std::uint32_t at,
                                                                    entry_list& list) noexcept {
  std::uint64_t all = 0;
  const std::uint64_t before = entries_before(bits, all);
  const std::uint32_t first = block * kernel::block_size + lane_of_thread() * per_load;
  std::uint32_t left = bits;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t step = 0; step < warp_loads; ++step) {
    std::uint32_t place = at + static_cast<std::uint32_t>(before >> (8 * step) & 255u);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      const std::uint32_t bit = step * per_load + i;
      if ((bits >> bit & 1u) == 0 || place >= list_capacity) continue;
      list.ids[place] = first + step * per_warp_load + i;
      list.weights[place++] = entries.weights[bit];
      left &= ~(1u << bit);
    }
    at += static_cast<std::uint32_t>(all >> (8 * step) & 255u);
  }
  return left;
}

//! Lists what a round of blocks, one a warp, has above `floor`; a full list is cut. Returns the size of the list.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint32_t take_round(const selected_row<Scalar>& row, std::uint32_t block,
                                                                  std::uint32_t k, std::uint32_t size,
                                                                  std::uint32_t& floor, bool& dropped,
                                                                  select_room& room) noexcept {
  warp_entries entries;
  read_entries(row, block, floor, entries);
  for (std::uint32_t bits = 0xFFFFFFFFu;;) {
    bits = entries.above(floor, bits);
    const std::uint32_t mine = __reduce_add_sync(all_lanes, static_cast<std::uint32_t>(__popc(bits)));
    if (lane_of_thread() == 0) room.counts[warp_of_thread()] = mine;
    __syncthreads();
    std::uint32_t at = size, all = size;
    for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) {
      if (warp < warp_of_thread()) at += room.counts[warp];
      all += room.counts[warp];
    }
    bits = list_entries(entries, block, bits, at, room.list);
    __syncthreads();
    if (all <= list_capacity) return all;
    floor = cut_list(room.list, list_capacity, k, room.order);
    dropped = true;
    size = k;
  }
}

//! The weight that entries must exceed at first: below the k-th largest of the lanes. 0 where no more than k lanes have
//! a weight, and everything positive is looked at.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint32_t first_floor(const selected_row<Scalar>& row, std::uint32_t k,
                                                                   select_room& room) noexcept {
  const auto weight_of = [&row](std::uint32_t i) { return row.weight(static_cast<double>(row.lane_maxima[i])); };
  const std::uint32_t lanes = row.blocks * kernel::lane_count;
  if (kth_weight(lanes, k + 1, weight_of, room.order).weight == 0) return 0;
  return kth_weight(lanes, k, weight_of, room.order).weight - 1;
}

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_support select_row(const selected_row<Scalar>& row, std::uint32_t k,
                                                                   select_room& room) noexcept {
  std::uint32_t floor = first_floor(row, k, room), size = 0;
  bool dropped = floor != 0;
  for (std::uint32_t first = 0; first < row.blocks; first += warps_of_block())
    size = take_round(row, first + warp_of_thread(), k, size, floor, dropped, room);
  if (size > k) {
    (void)cut_list(room.list, size, k, room.order);
    dropped = true;
    size = k;
  }
  return {status{}, size, !dropped};
}

template <class Scalar>
__global__ void __launch_bounds__(select_threads, 2)
    select_kernel(device_batch<Scalar> batch, std::uint32_t k, device_supports out) {
  __shared__ select_room room;
  const std::uint32_t number = blockIdx.x;
  const device_digest& digest = batch.digests.rows[number];
  token_id* const ids = out.ids + number * out.pitch;
  std::uint32_t* const weights = out.weights + number * out.pitch;
  device_support support;
  support.why = digest.of_whole_row();
  if (support.why.ok() && digest.one_hot) {
    support.size = 1;
    support.complete = true;
    if (threadIdx.x == 0) ids[0] = digest.argmax;
    if (threadIdx.x == 0) weights[0] = kernel::weight_one;
  }
  if (support.why.ok() && !digest.one_hot) {
    const selected_row<Scalar> row = open_selected(batch, number);
    // what is kept is a prefix of the order too
    support = select_row(row, digest.truncated && digest.kept < k ? digest.kept : k, room);
    if (digest.truncated) support.complete = support.size == digest.kept;
    for (std::uint32_t i = threadIdx.x; i < support.size; i += blockDim.x) {
      ids[i] = static_cast<token_id>(room.list.ids[i]);
      weights[i] = room.list.weights[i];
    }
  }
  if (threadIdx.x == 0) out.rows[number] = support;
}

//! Threads for a kernel that selects from rows of so many blocks of 1024 ids.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_for_select(std::uint32_t blocks) noexcept {
  return blocks < select_threads / lanes_per_warp ? blocks * lanes_per_warp : select_threads;
}

}  // namespace cuda_detail

//! Enqueues the `k` largest entries of each row, 1 .. max_device_selected; rows with fewer of positive weight give all
//! of those. From the digests that `read_rows` made before. Errors, of the arguments alone: those of `read_rows`;
//! invalid_argument (k); null_span; output_too_small (pitch below k; `where` = k).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status select(exec::cuda how, const device_batch<Scalar>& batch, std::uint32_t k,
                                              const device_supports& supports) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (k == 0 || k > max_device_selected) return device_detail::refusal(errc::invalid_argument);
  if (supports.rows == nullptr || supports.ids == nullptr || supports.weights == nullptr)
    return device_detail::refusal(errc::null_span);
  if (supports.pitch < k) return device_detail::refusal(errc::output_too_small, k);
  return cuda_detail::enqueue(how, {batch.rows.count, cuda_detail::threads_for_select(batch.digests.blocks)},
                              &cuda_detail::select_kernel<Scalar>, batch, k, supports);
}

SPECVERIFY_TYPES_END

#endif
