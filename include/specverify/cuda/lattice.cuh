// SPDX-License-Identifier: Apache-2.0
//! Quantizes the distribution of each row of a batch to the nearest lattice point, on a GPU. A drafter draws from this
//! lattice point and sends it.
//!
//! Use it after `read_rows` (digest.cuh): on the same batch for dense distributions (quantize/lattice.hpp), or on the
//! result of `select` (select.cuh) for distributions over a support (quantize/sparse_lattice.hpp).
//! Symbols:    as in kernel/scalar/lattice.hpp.
//! Guarantees: counts equal the results of `lattice` and `sparse_lattice` bit for bit, but only positive counts are
//!             listed, with ids ascending. A row is read at most twice, and a support is not read. No allocation.
//! Deviates:   unlike on the CPU, a dense distribution must have a resolution up to 1024, or up to 2048 ids.
//! See:        docs/algorithms/cuda.md, docs/algorithms/lattice.md, tests/device/lattice_test.cpp
#ifndef SPECVERIFY_CUDA_LATTICE_CUH
#define SPECVERIFY_CUDA_LATTICE_CUH

#include <specverify/cuda/detail/total.cuh>
#include <specverify/cuda/select.cuh>
#include <specverify/kernel/scalar/lattice.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

static_assert(2 * max_device_selected <= list_capacity, "the upper half of a list holds remainders");

struct lattice_room {
  select_room select;
  std::uint64_t sums[most_warps];
};

//! Entries of one row while they are rounded. Counts replace weights in the list, and the upper half of the list holds
//! remainders: zeta W + 2^55, which is positive.
struct lattice_list {
  entry_list& list;
  std::uint32_t size;

  static constexpr std::uint32_t digits = 31;  // bits of a remainder in one word; another word has the higher bits
  static constexpr std::int64_t middle = std::int64_t{1} << 55;

  __device__ __forceinline__ void round(std::uint32_t i, std::uint64_t normaliser, double inverse,
                                        std::uint32_t resolution) const noexcept {
    const kernel::lattice_entry entry = kernel::round_entry(list.weights[i], normaliser, inverse, resolution);
    const auto shifted = static_cast<std::uint64_t>(entry.remainder + middle);
    list.weights[i] = entry.count;
    list.ids[max_device_selected + i] = static_cast<std::uint32_t>(shifted >> digits);
    list.weights[max_device_selected + i] = static_cast<std::uint32_t>(shifted & ((1u << digits) - 1));
  }
  //! Returns a key that is larger for entries whose count changes first. If `lose`, counts decrease starting with the
  //! last entry by (zeta, id); otherwise they increase starting with the first entry.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t key(std::uint32_t i, bool lose) const noexcept {
    const std::uint64_t shifted = std::uint64_t{list.ids[max_device_selected + i]} << digits |
                                  std::uint64_t{list.weights[max_device_selected + i]};
    return lose ? shifted : 2 * static_cast<std::uint64_t>(middle) - shifted;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t high(std::uint32_t i, bool lose) const noexcept {
    return static_cast<std::uint32_t>(key(i, lose) >> digits) + 1;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t low(std::uint32_t i, bool lose) const noexcept {
    return static_cast<std::uint32_t>(key(i, lose) & ((1u << digits) - 1)) + 1;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t place(std::uint32_t i, bool lose) const noexcept {
    return lose ? i + 1 : size - i;
  }
};

//! Changes the counts of the `moves` entries with the largest (high, low, place) by one: down if `lose`, otherwise up.
__device__ __forceinline__ void repair_list(const lattice_list& entries, std::uint32_t moves, bool lose,
                                            order_room& room) noexcept {
  const auto high = [&](std::uint32_t i) { return entries.high(i, lose); };
  const weight_rank first = kth_weight(entries.size, moves, high, room);
  const auto low = [&](std::uint32_t i) { return high(i) == first.weight ? entries.low(i, lose) : 0u; };
  const weight_rank second = kth_weight(entries.size, moves - first.above, low, room);
  const auto place = [&](std::uint32_t i) { return low(i) == second.weight ? entries.place(i, lose) : 0u; };
  const weight_rank third = kth_weight(entries.size, moves - first.above - second.above, place, room);
  for (std::uint32_t i = threadIdx.x; i < entries.size; i += blockDim.x) {
    const bool moves_now = high(i) > first.weight || low(i) > second.weight || place(i) >= third.weight;
    if (moves_now) entries.list.weights[i] += lose ? ~std::uint32_t{0} : 1u;
  }
}

//! Converts the weights of a list to counts that sum to the resolution.
__device__ __forceinline__ void make_counts(const lattice_list& entries, std::uint64_t normaliser,
                                            std::uint32_t resolution, lattice_room& room) noexcept {
  const double inverse = kernel::lattice_inverse(normaliser);
  std::uint64_t mine = 0;
  for (std::uint32_t i = threadIdx.x; i < entries.size; i += blockDim.x) {
    entries.round(i, normaliser, inverse, resolution);
    mine += entries.list.weights[i];
  }
  const std::uint64_t sum = sum_of_block(mine, room.sums);
  const bool lose = sum > resolution;
  const auto moves = static_cast<std::uint32_t>(lose ? sum - resolution : resolution - sum);
  if (moves != 0) repair_list(entries, moves, lose, room.select.order);  // uniform across the block
}

//! Writes the entries with a positive count, ids ascending. Returns the number of these entries.
[[nodiscard]] __device__ __forceinline__ std::uint32_t write_counts(const lattice_list& entries, token_id* ids,
                                                                    std::uint32_t* counts,
                                                                    std::uint32_t* per_warp) noexcept {
  std::uint32_t written = 0;
  for (std::uint32_t first = 0; first < entries.size; first += blockDim.x) {
    const std::uint32_t i = first + threadIdx.x;
    const std::uint32_t count = i < entries.size ? entries.list.weights[i] : 0;
    const std::uint32_t listed = __ballot_sync(all_lanes, count != 0);
    __syncthreads();
    if (lane_of_thread() == 0) per_warp[warp_of_thread()] = static_cast<std::uint32_t>(__popc(listed));
    __syncthreads();
    std::uint32_t at = written + static_cast<std::uint32_t>(__popc(listed & ((1u << lane_of_thread()) - 1)));
    for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) {
      if (warp < warp_of_thread()) at += per_warp[warp];
      written += per_warp[warp];
    }
    if (count == 0) continue;
    ids[at] = static_cast<token_id>(entries.list.ids[i]);
    counts[at] = count;
  }
  return written;
}

template <class Scalar>
__global__ void __launch_bounds__(select_threads, 1)
    lattice_kernel(device_batch<Scalar> batch, std::uint32_t resolution, device_laws out) {
  __shared__ lattice_room room;
  const std::uint32_t number = blockIdx.x;
  const device_digest& digest = batch.digests.rows[number];
  token_id* const ids = out.ids + number * out.pitch;
  std::uint32_t* const counts = out.counts + number * out.pitch;
  device_law law;
  law.why = digest.of_whole_row();
  if (law.why.ok()) law.resolution = resolution;
  if (law.why.ok() && digest.one_hot) {
    law.size = 1;
    if (threadIdx.x == 0) ids[0] = digest.argmax;
    if (threadIdx.x == 0) counts[0] = resolution;
  }
  if (law.why.ok() && !digest.one_hot) {
    const selected_row<Scalar> row = open_selected(batch, number);
    std::uint64_t total = digest.total_weight;
    if (total == 0)
      total = integer_total(row.source, row.weight, room.sums, least_logit(row.weight.maximum, row.temperature, 0));
    std::uint32_t wanted = lattice_support_size(batch.rows.size, resolution);
    if (digest.truncated && digest.kept < wanted) wanted = digest.kept;  // a prefix of the order, with its own W
    const lattice_list entries{room.select.list, select_row(row, wanted, room.select).size};
    make_counts(entries, total, resolution, room);
    law.size = write_counts(entries, ids, counts, room.select.order.per_warp[0]);
  }
  if (threadIdx.x == 0) out.rows[number] = law;
}

inline constexpr std::uint32_t support_threads = 256;  // threads per block for a sparse distribution

template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads, 2)
    sparse_kernel(device_supports kept, std::uint32_t resolution, device_laws out) {
  __shared__ lattice_room room;
  const std::uint32_t number = blockIdx.x;
  const device_support& support = kept.rows[number];
  const lattice_list entries{room.select.list, support.size};
  device_law law;
  law.why = support.why;
  if (law.why.ok() && support.size == 0) law.why = {errc::empty_support, part::quantize, 0};
  if (law.why.ok() && support.size > max_device_selected)
    law.why = {errc::support_too_large, part::quantize, max_device_selected};
  if (law.why.ok() && support.size > out.pitch) law.why = {errc::output_too_small, part::quantize, support.size};
  if (law.why.ok()) {
    std::uint64_t mine = 0;
    for (std::uint32_t i = threadIdx.x; i < support.size; i += blockDim.x) {
      entries.list.ids[i] = static_cast<std::uint32_t>(kept.ids[number * kept.pitch + i]);
      entries.list.weights[i] = kept.weights[number * kept.pitch + i];
      mine += entries.list.weights[i];
    }
    const std::uint64_t total = sum_of_block(mine, room.sums);
    if (total == 0) law.why = {errc::zero_weight, part::quantize, 0};
    if (total != 0) {
      make_counts(entries, total, resolution, room);
      law.resolution = resolution;
      law.size = write_counts(entries, out.ids + number * out.pitch, out.counts + number * out.pitch,
                              room.select.order.per_warp[0]);
    }
  }
  if (threadIdx.x == 0) out.rows[number] = law;
}

[[nodiscard]] SPECVERIFY_INLINE status check(std::uint32_t resolution, const device_laws& laws) noexcept {
  if (resolution == 0 || resolution > max_lattice_resolution)
    return {errc::invalid_resolution, part::quantize, resolution};
  const bool complete = laws.rows != nullptr && laws.ids != nullptr && laws.counts != nullptr;
  return complete ? status{} : status{errc::null_span, part::quantize, 0};
}

}  // namespace cuda_detail

//! Enqueues the lattice point nearest to each whole row's distribution, as in law_format::dense_lattice, from the
//! digests of `read_rows`. Only ids with a positive count are listed.
//! Errors of the call: as for `read_rows`; under part::quantize invalid_resolution (`where` = the resolution, which is
//! 0 or above max_lattice_resolution), null_span, support_too_large (`where` = min(V, 2 l), above max_device_selected),
//! output_too_small (pitch below `where` = min(V, l)).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status quantize(exec::cuda how, const device_batch<Scalar>& batch,
                                                std::uint32_t resolution, const device_laws& laws) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (const status why = cuda_detail::check(resolution, laws); !why.ok()) return why;
  const std::uint32_t entries = lattice_support_size(batch.rows.size, resolution);
  if (entries > max_device_selected) return {errc::support_too_large, part::quantize, entries};
  const std::uint32_t listed = resolution < batch.rows.size ? resolution : batch.rows.size;
  if (laws.pitch < listed) return {errc::output_too_small, part::quantize, listed};
  const std::uint32_t threads = cuda_detail::threads_for_select(how.tuning, batch.rows.count, batch.digests.blocks);
  return cuda_detail::enqueue(how, {batch.rows.count, threads}, &cuda_detail::lattice_kernel<Scalar>, batch, resolution,
                              laws);
}

//! Enqueues the distribution of each of `rows` supports, normalized over the support's total weight. Only ids with a
//! positive count are listed. Weights must be at most 2^31.
//! Errors of the call, under part::quantize: invalid_resolution, null_span, size_mismatch (no rows), engine_failed.
//! Errors of a row: the support's error, support_too_large (more than max_device_selected entries), output_too_small
//! (more than the pitch), empty_support, zero_weight.
[[nodiscard]] SPECVERIFY_INLINE status quantize(exec::cuda how, std::uint32_t rows, const device_supports& kept,
                                                std::uint32_t resolution, const device_laws& laws) noexcept {
  if (const status why = cuda_detail::check(resolution, laws); !why.ok()) return why;
  if (kept.rows == nullptr || kept.ids == nullptr || kept.weights == nullptr)
    return {errc::null_span, part::quantize, 0};
  if (rows == 0) return {errc::size_mismatch, part::quantize, 0};
  return cuda_detail::enqueue(how, {rows, cuda_detail::support_threads},
                              &cuda_detail::sparse_kernel<cuda_detail::support_threads>, kept, resolution, laws);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
