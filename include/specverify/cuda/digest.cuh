// SPDX-License-Identifier: Apache-2.0
//! Digests of a batch of rows on a GPU: argmax, lane and block sums, bounds of Z, in one read of each row.
//!
//! Use it first, on logits as the engine left them; sample.cuh and select.cuh go on from the digests.
//! Symbols:    w(v), lanes, blocks, reference as in row/digest.hpp.
//! Shape:      a thread block a row; where rows are fewer than the thread blocks that run at once (cuda/tuning.cuh), a
//!             row is split into parts that meet at a counter, behind one more kernel for the references. Four threads
//!             read a block of 1024 ids, four lanes each, ascending: the float sums of the host, in its order. The tree
//!             of a block and the serial sum of blocks are the host's functions.
//! Guarantees: lane sums, block sums, total, reference, maximum, argmax and bounds are those of exec::seq bit for bit,
//!             whatever nvcc's flags but -ftz=true (in -use_fast_math). One read of a row: the first 16 ids of blocks,
//!             which choose the reference, stay in shared memory for the first 128 blocks, and are read twice behind
//!             them and in split rows (below 1.02 of the row). A row whose maximum stands more than 60 T above that
//!             reference is read twice. Z and W cost a read each, a truncation what cuda/detail/truncate.cuh says. No
//!             allocation, no synchronisation, nothing is read back.
//! See:        docs/algorithms/cuda.md, tests/device/digest_test.cpp, tests/device/truncated_test.cpp
#ifndef SPECVERIFY_CUDA_DIGEST_CUH
#define SPECVERIFY_CUDA_DIGEST_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/detail/totals.cuh>
#include <specverify/cuda/detail/truncate.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/kernel/scalar/digest.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t digest_threads = 512;  // at most; four read a block of 1024 ids
inline constexpr std::uint32_t per_block = 4;         // threads that share a block of 1024 ids
inline constexpr int digest_in_flight = 7;            // loads of a thread at once

//! Blocks of a multiprocessor at once, which limits registers to 64 a thread: bf16 rows would spill there.
template <class Scalar>
inline constexpr int digest_residents = std::is_same_v<Scalar, bfloat16_bits> ? 1 : 2;

struct digest_room {
  best_entry best[most_warps];
  float lanes[digest_threads * per_load];
  std::uint32_t least;
};

//! A row as one thread of the digest reads it: lanes 4 q to 4 q + 3 of the blocks g, g + groups, ...
template <class Scalar>
struct digest_thread {
  kernel::row_source<Scalar> row;
  bool aligned;
  std::uint32_t groups, group, quarter;
  float* held;  // this thread's place in digest_room::lanes: the first logits of the first pass, until sums go there
  bool is_held = true;

  __device__ __forceinline__ digest_thread(const kernel::row_source<Scalar>& source, float* lanes) noexcept
      : row(source),
        aligned(is_aligned(source.data)),
        groups(blockDim.x / per_block),
        group(threadIdx.x / per_block),
        quarter(threadIdx.x % per_block),
        held(lanes + threadIdx.x * per_load) {}

  [[nodiscard]] __device__ __forceinline__ std::uint32_t id_of(std::uint32_t block, std::uint32_t step) const noexcept {
    return block * kernel::block_size + step * kernel::lane_count + quarter * per_load;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t passes() const noexcept {
    return (kernel::block_count(row.size) + groups - 1) / groups;
  }
  //! Whether a block is whole, and read as it is stored.
  [[nodiscard]] __device__ __forceinline__ bool is_plain(std::uint32_t first) const noexcept {
    return aligned && row.mask == nullptr && row.bias_count == 0 && first + kernel::block_size <= row.size;
  }
  //! Where the biases of a block begin.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t first_bias(std::uint32_t block) const noexcept {
    return row.bias_count == 0 ? 0 : row.bias_from(block * kernel::block_size);
  }

  //! The first four logits of a block.
  [[nodiscard]] __device__ __forceinline__ four_logits first_of(bool is_first, std::uint32_t block,
                                                                std::uint32_t& bias) const noexcept {
    if (!is_first || !is_held) return load_four(row, aligned, id_of(block, 0), bias);
    return {{held[0], held[1], held[2], held[3]}};
  }

  //! The largest of the first 16 logits of every block that this thread has a part of.
  [[nodiscard]] __device__ __forceinline__ best_entry sample() noexcept {
    best_entry best{kernel::negative_infinity<float>(), 0};
    SPECVERIFY_UNROLL(1)
    for (std::uint32_t pass = 0; pass < passes(); ++pass) {
      const std::uint32_t block = pass * groups + group, id = id_of(block, 0);
      if (block * kernel::block_size >= row.size) break;
      std::uint32_t bias = first_bias(block);
      const four_logits first = load_four(row, aligned, id, bias);
      SPECVERIFY_UNROLL(4)
      for (std::uint32_t i = 0; i < per_load; ++i) {
        if (pass == 0) held[i] = first.at[i];
        if (first.at[i] > best.value) best = {first.at[i], id + i};
      }
    }
    return best;
  }
};

//! Where the sums of one row go.
struct digest_place {
  double* block_sums;
  float* lane_sums;
  float* lane_maxima;
  std::uint32_t blocks;
};
[[nodiscard]] __device__ __forceinline__ digest_place place_of(const device_digests& out, std::uint32_t row) noexcept {
  const std::size_t at = std::size_t{row} * out.blocks, lane = at * kernel::lane_count;
  return {out.block_sums + at, out.lane_sums + lane, out.lane_maxima + lane, out.blocks};
}

//! What one thread gathers of a row.
struct digest_part {
  best_entry best;
  bool has_nan;
};

//! Four lanes of one block: their sums and largest values.
struct lane_part {
  float sum[per_load];
  float top[per_load];

  __device__ __forceinline__ void add(const four_logits& four, std::uint32_t id, const kernel::envelope<float>& weight,
                                      digest_part& part) noexcept {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      const float value = four.at[i];
      if (kernel::is_nan(value)) {
        part.has_nan = true;
        continue;
      }
      if (value > top[i]) top[i] = value;
      if (value > part.best.value) part.best = {value, id + i};
      sum[i] = __fadd_rn(sum[i], weight(value));
    }
  }
};

//! One block of 1024 ids: lane sums and maxima, and by the first of its four threads the block's sum. All lanes of a
//! warp come here together, those behind the end with `exists` false. InFlight: loads that a thread has under way.
template <int InFlight, class Scalar>
__device__ __forceinline__ void digest_block(const digest_thread<Scalar>& self, std::uint32_t block, bool exists,
                                             bool is_first, const kernel::envelope<float>& weight,
                                             const digest_place& out, float* lanes, digest_part& part) noexcept {
  const float none = kernel::negative_infinity<float>();
  lane_part mine{{0, 0, 0, 0}, {none, none, none, none}};
  const std::uint32_t first = block * kernel::block_size;
  if (exists) {
    const std::uint32_t steps = kernel::block_width(self.row.size - first) / kernel::lane_count;
    std::uint32_t bias = self.first_bias(block);
    mine.add(self.first_of(is_first, block, bias), self.id_of(block, 0), weight, part);
    if (self.is_plain(first)) {
      SPECVERIFY_UNROLL(InFlight)
      for (std::uint32_t step = 1; step < kernel::block_size / kernel::lane_count; ++step) {
        const std::uint32_t id = self.id_of(block, step);
        mine.add(load_aligned(self.row.data + id), id, weight, part);
      }
    } else {
      SPECVERIFY_UNROLL(1)
      for (std::uint32_t step = 1; step < steps; ++step) {
        const std::uint32_t id = self.id_of(block, step);
        mine.add(load_four(self.row, self.aligned, id, bias), id, weight, part);
      }
    }
  }
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t i = 0; i < per_load; ++i) lanes[threadIdx.x * per_load + i] = mine.sum[i];
  __syncwarp();
  if (exists && self.quarter == 0) out.block_sums[block] = kernel::lane_tree(lanes + self.group * kernel::lane_count);
  if (exists) {
    const std::size_t lane = std::size_t{block} * kernel::lane_count + self.quarter * per_load;
    *reinterpret_cast<float4*>(out.lane_sums + lane) = make_float4(mine.sum[0], mine.sum[1], mine.sum[2], mine.sum[3]);
    *reinterpret_cast<float4*>(out.lane_maxima + lane) =
        make_float4(mine.top[0], mine.top[1], mine.top[2], mine.top[3]);
  }
  __syncwarp();
}

//! The blocks from `first` to `last` of a row, by a thread block. Whole warps go through every pass together.
template <int InFlight, class Scalar>
__device__ __forceinline__ void digest_blocks(const digest_thread<Scalar>& self, std::uint32_t first,
                                              std::uint32_t last, const kernel::envelope<float>& weight,
                                              const digest_place& out, float* lanes, digest_part& part) noexcept {
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t next = first; next < last; next += self.groups) {
    const std::uint32_t block = next + self.group;
    digest_block<InFlight>(self, block, block < last, next == 0, weight, out, lanes, part);
  }
}

//! The sum of a row's blocks, in their order, and what follows from it. By one thread.
__device__ __forceinline__ void close_digest(device_digest& digest, const double* block_sums,
                                             std::uint32_t blocks) noexcept {
  double total = 0;
  for (std::uint32_t b = 0; b < blocks; ++b) total = __dadd_rn(total, block_sums[b]);
  digest.coarse_total = total;
  digest.upper = total * (1.0 + kernel::coarse_margin);
  digest.lower = total / kernel::coarse_excess * (1.0 - kernel::coarse_margin);
}

//! Whether a maximum stands at most 60 T above the reference. The temperature is loaded again: no thread keeps it.
[[nodiscard]] __device__ __forceinline__ bool is_usable(float reference, float maximum,
                                                        const device_transform& transform,
                                                        std::uint32_t number) noexcept {
  const double temperature = temperature_of(transform, number);
  return is_greedy(temperature) ||
         (kernel::is_finite(reference) &&
          static_cast<double>(maximum) - static_cast<double>(reference) <= kernel::coarse_range * temperature);
}

//! The digest of a row whose block sums are there. By one thread.
[[nodiscard]] __device__ __forceinline__ device_digest make_digest(const best_entry& best, float reference,
                                                                   double temperature,
                                                                   const digest_place& place) noexcept {
  device_digest digest;
  digest.argmax = static_cast<token_id>(best.id);
  digest.maximum = digest.reference = best.value;
  digest.temperature = temperature;
  digest.one_hot = is_greedy(temperature);
  if (digest.one_hot) {
    digest.coarse_total = digest.lower = digest.upper = 1;
  } else {
    digest.reference = reference;
    close_digest(digest, place.block_sums, place.blocks);
  }
  return digest;
}

[[nodiscard]] __device__ __forceinline__ kernel::envelope<float> envelope_of(float reference,
                                                                             double temperature) noexcept {
  return {reference, kernel::coarse_scale(is_greedy(temperature) ? 1.0 : temperature), false};
}

//! A row by a thread block. The digest is right in thread 0, `why` in all.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_digest digest_row(const kernel::row_source<Scalar>& row,
                                                                  const device_transform& transform,
                                                                  std::uint32_t number, const digest_place& place,
                                                                  digest_room& room) noexcept {
  digest_thread<Scalar> self(row, room.lanes);
  kernel::envelope<float> weight = envelope_of(0, temperature_of(transform, number));
  weight.reference = best_of_block(self.sample(), room.best).value;
  device_digest digest;
  for (bool again = false;; again = true) {
    digest_part part{{kernel::negative_infinity<float>(), 0}, false};
    digest_blocks<digest_in_flight>(self, 0, place.blocks, weight, place, room.lanes, part);
    const bool has_nan = __syncthreads_or(part.has_nan) != 0;
    const best_entry best = best_of_block(part.best, room.best);
    if (has_nan || !kernel::is_finite(best.value)) {
      digest.why = find_error(row, &room.least);
      return digest;
    }
    if (again || is_usable(weight.reference, best.value, transform, number)) {
      if (threadIdx.x == 0) digest = make_digest(best, weight.reference, temperature_of(transform, number), place);
      return digest;  // the block sums of all threads were there since the last barrier
    }
    weight.reference = best.value;
    self.is_held = false;
  }
}

template <class Scalar>
__global__ void __launch_bounds__(digest_threads, digest_residents<Scalar>)
    digest_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out) {
  __shared__ digest_room room;
  const std::uint32_t row = blockIdx.x;
  const double temperature = temperature_of(transform, row);
  if (!is_temperature(temperature)) {  // the same for all threads
    if (threadIdx.x == 0) out.rows[row].why = {errc::invalid_temperature, part::row, 0};
    return;
  }
  const device_digest digest = digest_row(open_row(rows, transform, row), transform, row, place_of(out, row), room);
  if (threadIdx.x == 0) out.rows[row] = digest;
}

// ---- few rows: each is split into parts, one a thread block, and the last block that ends closes the row

inline constexpr int split_in_flight = 21;              // loads of a thread at once
inline constexpr std::uint32_t nan_seen = 0x80000000u;  // in the counter of a row's parts

//! The references of rows, which their parts need; and no part has ended yet.
template <class Scalar>
__global__ void __launch_bounds__(digest_threads, 1)
    reference_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out) {
  __shared__ digest_room room;
  digest_thread<Scalar> self(open_row(rows, transform, blockIdx.x), room.lanes);
  const float reference = best_of_block(self.sample(), room.best).value;
  if (threadIdx.x == 0) {
    out.rows[blockIdx.x].reference = reference;
    out.parts[blockIdx.x] = 0;
  }
}

//! The largest logit of a row and its least id, from the largest ones of lanes: in the first block that has it, those
//! lanes are read again.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ best_entry best_of_lanes(const kernel::row_source<Scalar>& row,
                                                                  const digest_place& place,
                                                                  digest_room& room) noexcept {
  best_entry mine{kernel::negative_infinity<float>(), 0};
  const std::uint32_t lanes = place.blocks * kernel::lane_count;
  for (std::uint32_t i = threadIdx.x; i < lanes; i += blockDim.x)
    mine = better(mine, {__ldcg(place.lane_maxima + i), i / kernel::lane_count});
  const best_entry block = best_of_block(mine, room.best);
  std::uint32_t least = no_id;
  for (std::uint32_t i = threadIdx.x; i < kernel::block_size; i += blockDim.x) {
    const std::uint32_t id = block.id * kernel::block_size + i;
    const float top = __ldcg(place.lane_maxima + block.id * kernel::lane_count + i % kernel::lane_count);
    if (least == no_id && id < row.size && top == block.value && row.value(id) == block.value) least = id;
  }
  least = least_of_block(least, &room.least);
  return {least == no_id ? block.value : row.value(least), least};
}

//! Closes a row whose parts are done, by one thread block.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_digest close_parts(const kernel::row_source<Scalar>& row,
                                                                   const device_transform& transform,
                                                                   std::uint32_t number, float reference, bool has_nan,
                                                                   const digest_place& place,
                                                                   digest_room& room) noexcept {
  device_digest digest;
  const best_entry best = best_of_lanes(row, place, room);
  if (has_nan || !kernel::is_finite(best.value)) {
    digest.why = find_error(row, &room.least);
    return digest;
  }
  if (!is_usable(reference, best.value, transform, number)) return digest_row(row, transform, number, place, room);
  if (threadIdx.x == 0) digest = make_digest(best, reference, temperature_of(transform, number), place);
  return digest;
}

template <class Scalar>
__global__ void __launch_bounds__(digest_threads, 1)
    split_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out, std::uint32_t parts) {
  __shared__ digest_room room;
  __shared__ std::uint32_t ended;
  const std::uint32_t number = blockIdx.x / parts, size = (out.blocks + parts - 1) / parts;
  const double temperature = temperature_of(transform, number);
  if (!is_temperature(temperature)) {  // the same for all parts of a row
    if (threadIdx.x == 0 && blockIdx.x % parts == 0) out.rows[number].why = {errc::invalid_temperature, part::row, 0};
    return;
  }
  const kernel::row_source<Scalar> row = open_row(rows, transform, number);
  const digest_place place = place_of(out, number);
  digest_thread<Scalar> self(row, room.lanes);
  self.is_held = false;
  const float reference = out.rows[number].reference;
  digest_part part{{kernel::negative_infinity<float>(), 0}, false};
  const std::uint32_t first = blockIdx.x % parts * size, end = first + size;
  digest_blocks<split_in_flight>(self, first, end < out.blocks ? end : out.blocks, envelope_of(reference, temperature),
                                 place, room.lanes, part);
  const bool has_nan = __syncthreads_or(part.has_nan) != 0;
  if (threadIdx.x == 0) {  // for the block: fences on both sides of the counter
    __threadfence();
    if (has_nan) atomicOr(out.parts + number, nan_seen);
    ended = atomicAdd(out.parts + number, 1u) + 1;
    __threadfence();
  }
  __syncthreads();
  if ((ended & ~nan_seen) != parts) return;  // the same for the block
  const device_digest digest = close_parts(row, transform, number, reference, (ended & nan_seen) != 0, place, room);
  if (threadIdx.x == 0) out.rows[number] = digest;
}

//! Into how many parts each row is split, so that all multiprocessors have work.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t parts_of(const cuda_tuning& tuning,
                                                       const device_batch<Scalar>& batch) noexcept {
  const std::uint32_t running = tuning.multiprocessors * tuning.digest_blocks / batch.rows.count;
  const std::uint32_t most = batch.digests.blocks / (tuning.least_part == 0 ? 1 : tuning.least_part);
  const std::uint32_t parts = running < most ? running : most;
  return parts == 0 ? 1 : parts;
}

}  // namespace cuda_detail

//! Reads the rows of a batch: enqueues their digests, and a kernel more where rows are truncated or totals asked
//! for. Errors, of the arguments alone: size_mismatch and those of `make_device_batch`; engine_failed. Rows in error
//! say so in their digest.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status read_rows(exec::cuda how, const device_batch<Scalar>& batch,
                                                 const device_request& request = {}) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  const auto threads_of = [](std::uint32_t blocks) {
    return cuda_detail::threads_for(blocks * cuda_detail::per_block, cuda_detail::digest_threads);
  };
  const std::uint32_t rows = batch.rows.count, blocks = batch.digests.blocks;
  const std::uint32_t parts = cuda_detail::parts_of(how.tuning, batch);
  status why;
  if (parts == 1) {
    why = cuda_detail::enqueue(how, {rows, threads_of(blocks)}, &cuda_detail::digest_kernel<Scalar>, batch.rows,
                               batch.transform, batch.digests);
  } else {
    why = cuda_detail::enqueue(how, {rows, threads_of(blocks)}, &cuda_detail::reference_kernel<Scalar>, batch.rows,
                               batch.transform, batch.digests);
    if (why.ok())
      why = cuda_detail::enqueue(how, {rows * parts, threads_of((blocks + parts - 1) / parts)},
                                 &cuda_detail::split_kernel<Scalar>, batch.rows, batch.transform, batch.digests, parts);
  }
  if (why.ok() && batch.transform.may_truncate())
    why = cuda_detail::enqueue(how, {rows, cuda_detail::threads_for_select(blocks)},
                               &cuda_detail::truncate_kernel<Scalar>, batch);
  if (why.ok() && (request.exact_normaliser || request.integer_total))
    why = cuda_detail::enqueue(how, {rows, cuda_detail::threads_for_row(batch.rows.size)},
                               &cuda_detail::totals_kernel<Scalar>, batch, request);
  return why;
}

SPECVERIFY_TYPES_END

#endif
