// SPDX-License-Identifier: Apache-2.0
//! Selects the largest entries of each row of a batch on a GPU, as `top_k` does on the CPU. The result contains ids and
//! integer weights.
//!
//! Use it after `read_rows` (digest.cuh), on the same batch.
//! Method:     one thread block per row. No id below the (K + 1)-th largest of the digest's lane maxima can be
//!             selected, so only blocks that reach this threshold are read.
//! Guarantees: the entries are the first K in the order weight descending, then id ascending, and equal the results of
//!             exec::seq bit for bit. They are written with ids ascending. From a truncated row, only kept ids are
//!             selected. At most one read per row. No allocation.
//! See:        docs/algorithms/cuda.md, docs/decisions/0009-lane-tops.md, tests/device/select_test.cpp
#ifndef SPECVERIFY_CUDA_SELECT_CUH
#define SPECVERIFY_CUDA_SELECT_CUH

#include <specverify/cuda/detail/bar.cuh>
#include <specverify/cuda/policy.cuh>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
inline constexpr std::uint32_t max_device_selected = 2048;

namespace cuda_detail {

inline constexpr std::uint32_t select_threads = 512;  // maximum; each warp reads a block of 1024 ids
inline constexpr std::uint32_t warp_loads = kernel::block_size / per_warp_load;

struct select_room {
  entry_list list;
  order_room order;
  std::uint32_t tops[most_tops];
  key_cut cut;
};

//! A row to select entries from.
template <class Scalar>
struct selected_row {
  kernel::row_source<Scalar> source;
  kernel::integer_weight weight;
  const float* lane_maxima;
  std::uint32_t blocks;
  double temperature;
  bool aligned;
};

//! Opens a row of a batch. The digest must be ok and not one-hot.
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

//! State of a selection. `low` is the least key in the list, and `bar` the least key that may still be listed.
//! `dropped` is true if more entries than wanted have a positive weight.
struct selection {
  std::uint32_t wanted;
  std::uint32_t size;
  std::uint32_t low;
  std::uint32_t bar;
  bool dropped;
};

//! Returns the threshold before any block is read. If more than `k` lanes have a positive weight, it is about the (k +
//! 1)-th largest key of the lanes, but not above it, so at least one entry is dropped. Otherwise it is the least key of
//! a positive weight.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ selection first_bar(const selected_row<Scalar>& row, std::uint32_t k,
                                                             select_room& room) noexcept {
  stage_lanes(row.lane_maxima, row.blocks, room.list, room.tops);
  const double maximum = row.weight.maximum, last = maximum - 32.0 * row.temperature / kernel::log2_e;
  if (warp_of_thread() == 0) {
    const float guess = last > -3.0e38 ? static_cast<float>(last) : kernel::negative_infinity<float>();
    const std::uint32_t least = least_key(row.weight, 1, key_of_value(guess));
    if (lane_of_thread() == 0) room.cut.low = least;
  }
  __syncthreads();
  const std::uint32_t least = room.cut.low, top = key_of_value(static_cast<float>(maximum));
  const lane_keys keys{row.lane_maxima, room.list};
  const std::uint32_t found =
      kth_key(row.blocks * kernel::lane_count, k + 1, keys, {least, top}, static_cast<int>(k / 32), room.order).weight;
  if (found == 0) return {k, 0, least, least, false};  // uniform across the block
  if (warp_of_thread() == 0) {
    const std::uint32_t low = least_key(row.weight, weight_of_key(row.weight, found), found);
    if (lane_of_thread() == 0) room.cut.high = low;
  }
  __syncthreads();
  return {k, 0, room.cut.high, room.cut.high, true};
}

//! Cuts a list to the wanted entries and at most `slack` more. Also raises the threshold, because a later id must have
//! a larger weight than the last entry. A list without extra entries has the first entries of the total order.
__device__ __forceinline__ void cut_list(const kernel::integer_weight& weight, int slack, selection& self,
                                         select_room& room) noexcept {
  const entry_list& list = room.list;
  const auto key_of = [&list](std::uint32_t i) { return list.weights[i]; };
  const std::uint32_t top = key_of_value(static_cast<float>(weight.maximum));
  const std::uint32_t last = kth_key(self.size, self.wanted, key_of, {self.low, top}, slack, room.order).weight;
  if (warp_of_thread() == 0) {
    const std::uint32_t of_last = weight_of_key(weight, last), low = least_key(weight, of_last, last);
    const std::uint32_t high =
        of_last == kernel::weight_one ? key_above_all : least_key(weight, of_last + 1, last);  // uniform in the warp
    if (lane_of_thread() == 0) room.cut = {low, high, 0};
  }
  __syncthreads();
  key_cut cut = room.cut;
  const std::uint32_t above = count_from(list, self.size, cut.high, room.order);
  cut.ties = above < self.wanted ? self.wanted - above : 0;
  self.size = keep_entries(room.list, self.size, cut, room.order);
  self.low = cut.low;
  self.bar = cut.high;
  self.dropped = true;
}

//! The block that this warp reads in a round (no_id: none), the number of blocks in the round, and the block after
//! them.
struct block_turn {
  std::uint32_t block;
  std::uint32_t count;
  std::uint32_t next;
};

//! Returns whether a block has a lane at or above the threshold.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ bool reaches(const selected_row<Scalar>& row, std::uint32_t block,
                                                      std::uint32_t bar, const select_room& room) noexcept {
  if (block >= row.blocks) return false;
  if (block < most_tops) return room.tops[block] >= bar;
  bool found = false;
  const float* const lanes = row.lane_maxima + block * kernel::lane_count;
  for (std::uint32_t i = 0; i < kernel::lane_count; ++i) found = found || key_of_value(lanes[i]) >= bar;
  return found;
}

//! Returns the next blocks with a lane at or above the threshold, one per warp, ascending.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ block_turn next_blocks(const selected_row<Scalar>& row, std::uint32_t next,
                                                                std::uint32_t bar, const select_room& room) noexcept {
  const std::uint32_t wanted = warps_of_block(), lane = lane_of_thread();
  block_turn turn{no_id, 0, row.blocks};
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t first = next; first < row.blocks; first += lanes_per_warp) {
    const std::uint32_t block = first + lane;
    const bool is_read = reaches(row, block, bar, room);
    const std::uint32_t all = __ballot_sync(all_lanes, is_read);
    const std::uint32_t place = turn.count + static_cast<std::uint32_t>(__popc(all & ((1u << lane) - 1)));
    const std::uint32_t mine = __ballot_sync(all_lanes, is_read && place == warp_of_thread());
    const std::uint32_t last = __ballot_sync(all_lanes, is_read && place == wanted - 1);
    if (mine != 0) turn.block = first + static_cast<std::uint32_t>(__ffs(static_cast<int>(mine))) - 1;
    turn.count += static_cast<std::uint32_t>(__popc(all));
    if (last == 0) continue;  // uniform across the block
    turn.count = wanted;
    turn.next = first + static_cast<std::uint32_t>(__ffs(static_cast<int>(last)));
    break;
  }
  return turn;
}

//! Prefetches a block of the next round, one line per lane.
template <class Scalar>
__device__ __forceinline__ void ask_for(const kernel::row_source<Scalar>& row, std::uint32_t block) noexcept {
  constexpr std::uint32_t per_lane = kernel::block_size / lanes_per_warp;
  if (block != no_id) ask_for_line(row, block * kernel::block_size + lane_of_thread() * per_lane);
}

//! A thread's 32 logits of a block. Entry 4 s + i is the id 128 s + 4 lane + i.
using block_part = logit_group<warp_loads>;

[[nodiscard]] __device__ __forceinline__ std::uint32_t first_id(std::uint32_t block) noexcept {
  return block * kernel::block_size + lane_of_thread() * per_load;
}

template <class Scalar>
__device__ __forceinline__ void read_block(const selected_row<Scalar>& row, std::uint32_t block,
                                           block_part& found) noexcept {
  if (block == no_id) return;  // uniform across the warp
  const std::uint32_t first = first_id(block);
  std::uint32_t bias = row.source.bias_count == 0 ? 0 : row.source.bias_from(first);
  found = load_group<warp_loads>(row.source, row.aligned, first, per_warp_load, bias);
}

//! Returns a word in which bit b is set if entry b is at or above the threshold.
[[nodiscard]] __device__ __forceinline__ std::uint32_t reaching(const block_part& part, std::uint32_t bar) noexcept {
  const float least = value_of_key(bar);
  std::uint32_t bits = 0;
  add_group(part, 0, per_load, [&](float value, std::uint32_t bit) { bits |= (value >= least ? 1u : 0u) << bit; });
  return bits;
}

//! Returns one byte for each of a warp's eight loads: the number of entries in lower lanes. `all` gets the numbers in
//! all lanes.
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

//! Adds the thread's entries to the list, as far as there is space; the warp's entries begin at index `at`. Returns the
//! bits of the entries that did not fit.
[[nodiscard]] __device__ __forceinline__ std::uint32_t list_entries(const block_part& part, std::uint32_t block,
                                                                    std::uint32_t bits, std::uint32_t at,
                                                                    entry_list& list) noexcept {
  std::uint64_t all = 0;
  const std::uint64_t before = entries_before(bits, all);
  const std::uint32_t first = first_id(block);
  std::uint32_t left = bits;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t step = 0; step < warp_loads; ++step) {
    std::uint32_t place = at + static_cast<std::uint32_t>(before >> (8 * step) & 255u);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      const std::uint32_t bit = step * per_load + i;
      if ((bits >> bit & 1u) == 0 || place >= list_capacity) continue;
      list.ids[place] = first + step * per_warp_load + i;
      list.weights[place++] = key_of_value(part.at[step].at[i]);
      left &= ~(1u << bit);
    }
    at += static_cast<std::uint32_t>(all >> (8 * step) & 255u);
  }
  return left;
}

//! Lists the entries at or above the threshold in a round of blocks, one block per warp. If the list is full, it is cut
//! before the other entries are added.
__device__ __forceinline__ void list_round(const block_part& part, std::uint32_t block, std::uint32_t turn,
                                           const kernel::integer_weight& weight, selection& self,
                                           select_room& room) noexcept {
  std::uint32_t bits = block == no_id ? 0 : reaching(part, self.bar);
  SPECVERIFY_UNROLL(1)
  for (;;) {
    const std::uint32_t mine = __reduce_add_sync(all_lanes, static_cast<std::uint32_t>(__popc(bits)));
    const warp_places places = places_of_warps(mine, room.order.per_warp[turn]);
    if (mine != 0) bits = list_entries(part, block, bits, self.size + places.before, room.list);
    self.size += places.all;
    if (self.size <= list_capacity) return;  // uniform across the block
    self.size = list_capacity;
    cut_list(weight, static_cast<int>(list_capacity / 64), self, room);
    bits &= reaching(part, self.bar);
  }
}

//! Reads the blocks that reach the threshold, and prefetches the next round in the meantime.
template <class Scalar>
__device__ __forceinline__ void read_rounds(const selected_row<Scalar>& row, selection& self,
                                            select_room& room) noexcept {
  block_turn turn = next_blocks(row, 0, self.bar, room);
  block_part part{};
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t round = 0; turn.count != 0; ++round) {
    read_block(row, turn.block, part);
    const block_turn next = next_blocks(row, turn.next, self.bar, room);
    ask_for(row.source, next.block);
    list_round(part, turn.block, round % 2, row.weight, self, room);
    turn = next;
  }
}

//! Selects the first k entries of the order, with weights, into the list of `room`.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_support select_row(const selected_row<Scalar>& row, std::uint32_t k,
                                                                   select_room& room) noexcept {
  selection self = first_bar(row, k, room);
  read_rounds(row, self, room);
  if (self.size > k) cut_list(row.weight, 0, self, room);
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < self.size; i += blockDim.x)
    room.list.weights[i] = weight_of_key(row.weight, room.list.weights[i]);
  __syncthreads();
  return {status{}, self.size, !self.dropped};
}

template <class Scalar>
__global__ void __launch_bounds__(select_threads, 1)
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
    // the kept ids are also a prefix of the order
    support = select_row(row, digest.truncated && digest.kept < k ? digest.kept : k, room);
    if (digest.truncated) support.complete = support.size == digest.kept;
    for (std::uint32_t i = threadIdx.x; i < support.size; i += blockDim.x) {
      ids[i] = static_cast<token_id>(room.list.ids[i]);
      weights[i] = room.list.weights[i];
    }
  }
  if (support.why.ok()) support.total_weight = digest.total_weight;
  if (threadIdx.x == 0) out.rows[number] = support;
}

//! Returns the number of threads for a kernel that selects from rows of `blocks` blocks of 1024 ids. The limit is half
//! as large if there are more rows than multiprocessors.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_for_select(const cuda_tuning& tuning, std::uint32_t rows,
                                                                 std::uint32_t blocks) noexcept {
  return threads_for(blocks * lanes_per_warp, rows > tuning.multiprocessors ? select_threads / 2 : select_threads);
}

}  // namespace cuda_detail

//! Enqueues a selection of the `k` largest entries of each row, from the digests of `read_rows`. k must be 1 ..
//! max_device_selected. If a row has fewer entries with a positive weight, it selects all of them.
//! Errors of the call: as for `read_rows`; invalid_argument (k); null_span; output_too_small (pitch below `where` = k).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status select(exec::cuda how, const device_batch<Scalar>& batch, std::uint32_t k,
                                              const device_supports& supports) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (k == 0 || k > max_device_selected) return device_detail::refusal(errc::invalid_argument);
  if (supports.rows == nullptr || supports.ids == nullptr || supports.weights == nullptr)
    return device_detail::refusal(errc::null_span);
  if (supports.pitch < k) return device_detail::refusal(errc::output_too_small, k);
  const std::uint32_t threads = cuda_detail::threads_for_select(how.tuning, batch.rows.count, batch.digests.blocks);
  return cuda_detail::enqueue(how, {batch.rows.count, threads}, &cuda_detail::select_kernel<Scalar>, batch, k,
                              supports);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
