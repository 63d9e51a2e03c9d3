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
//!             which choose the reference, are read twice behind the first 128 blocks and in split rows, and so are 64
//!             ids or a few more of the maximum's block (below 1.02 of a row from V = 4096 on). A row whose maximum
//!             stands more than 60 T above that reference is read twice. Z and W cost a read each, a truncation what
//!             cuda/detail/truncate.cuh says. No allocation, no synchronisation, nothing is read back.
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

inline constexpr std::uint32_t digest_threads = 256;  // at most; four read a block of 1024 ids
inline constexpr std::uint32_t per_block = 4;         // threads that share a block of 1024 ids
inline constexpr std::uint32_t digest_in_flight = 7;  // loads of a thread at once; 63 of a block, behind its first
//! Blocks of a multiprocessor at once: 3 leave 80 registers to a thread, where bf16 rows would spill.
template <class Scalar, bool Plain>
inline constexpr int digest_residents = Plain && !std::is_same_v<Scalar, bfloat16_bits> ? 3 : 2;
template <class Scalar, bool Plain>
inline constexpr std::uint32_t read_in_flight = digest_residents<Scalar, Plain> == 2 && Plain ? 9 : digest_in_flight;
inline constexpr std::uint32_t plain_in_flight = 21;  // where a row is split, if it is read as it is stored

inline constexpr std::uint32_t held_passes = 2;  // whose first logits stay in shared memory

struct digest_room {
  best_entry best[most_warps];
  union {
    float lanes[held_passes * digest_threads * per_load];
    double sums[digest_threads];  // of blocks, while a row is closed
  };
  std::uint32_t least;
};

//! A row as one thread of the digest reads it: lanes 4 q to 4 q + 3 of the blocks g, g + groups, ...
template <class Scalar>
struct digest_thread {
  kernel::row_source<Scalar> row;
  bool aligned;
  std::uint32_t groups, group, quarter;
  float* held;  // this thread's place in digest_room::lanes: the first logits of a pass, until its sums go there
  bool is_held = true;

  __device__ __forceinline__ digest_thread(const kernel::row_source<Scalar>& source, bool is_plain,
                                           float* lanes) noexcept
      : row(source),
        aligned(is_plain || is_aligned(source.data)),
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
  //! Where the biases of a block begin.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t first_bias(std::uint32_t block) const noexcept {
    return row.bias_count == 0 ? 0 : row.bias_from(block * kernel::block_size);
  }

  //! This thread's place for a pass.
  [[nodiscard]] __device__ __forceinline__ float* held_of(std::uint32_t pass) const noexcept {
    return pass < held_passes ? held + pass * blockDim.x * per_load : held;
  }
  //! The first four logits of a block, which is read in this pass.
  [[nodiscard]] __device__ __forceinline__ four_logits first_of(std::uint32_t pass, std::uint32_t block,
                                                                std::uint32_t& bias) const noexcept {
    if (pass >= held_passes || !is_held) return load_four(row, aligned, id_of(block, 0), bias);
    const float* first = held_of(pass);
    return {{first[0], first[1], first[2], first[3]}};
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
        if (pass < held_passes) held_of(pass)[i] = first.at[i];
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

//! Four lanes of one block: their sums and largest values. NaN in a row is NaN in one of these.
struct lane_part {
  float sum[per_load];
  float top[per_load];

  __device__ __forceinline__ void add(const four_logits& four, const kernel::envelope<float>& weight) noexcept {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      top[i] = larger_or_nan(top[i], four.at[i]);
      sum[i] = __fadd_rn(sum[i], weight(four.at[i]));
    }
  }
  [[nodiscard]] __device__ __forceinline__ float largest() const noexcept {
    return larger_or_nan(larger_or_nan(top[0], top[1]), larger_or_nan(top[2], top[3]));
  }
};

//! Four lanes of a block. InFlight: loads that a thread has under way, which divides 63; the last block of a row may
//! have fewer.
template <std::uint32_t InFlight, class Scalar>
[[nodiscard]] __device__ __forceinline__ lane_part read_lanes(const digest_thread<Scalar>& self, std::uint32_t block,
                                                              std::uint32_t pass,
                                                              const kernel::envelope<float>& weight) noexcept {
  constexpr std::uint32_t whole = kernel::block_size / kernel::lane_count;
  static_assert((whole - 1) % InFlight == 0, "no step of a whole block is left");
  const float none = kernel::negative_infinity<float>();
  lane_part mine{{0, 0, 0, 0}, {none, none, none, none}};
  const std::uint32_t steps = kernel::block_width(self.row.size - block * kernel::block_size) / kernel::lane_count;
  std::uint32_t bias = self.first_bias(block);
  mine.add(self.first_of(pass, block, bias), weight);
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t step = 1; step < steps; step += InFlight) {
    const logit_group<InFlight> group =
        load_group<InFlight>(self.row, self.aligned, self.id_of(block, step), kernel::lane_count, bias);
    SPECVERIFY_UNROLL(32)
    for (std::uint32_t k = 0; k < InFlight; ++k)
      if (step + k < steps) mine.add(group.at[k], weight);  // a weight of -infinity is above 0
  }
  return mine;
}

//! One block of 1024 ids: lane sums and maxima, and by the first of its four threads the block's sum. All lanes of a
//! warp come here together, those behind the end with `exists` false. `best`: the largest value of a thread's lanes
//! and the first block that has it; NaN if one was there.
template <std::uint32_t InFlight, class Scalar>
__device__ __forceinline__ void digest_block(const digest_thread<Scalar>& self, std::uint32_t block, bool exists,
                                             std::uint32_t pass, const kernel::envelope<float>& weight,
                                             const digest_place& out, best_entry& best) noexcept {
  lane_part mine{};
  if (exists) {
    mine = read_lanes<InFlight>(self, block, pass, weight);
    const float largest = mine.largest();
    if (!(largest <= best.value)) best = {larger_or_nan(best.value, largest), block};
    const std::size_t lane = std::size_t{block} * kernel::lane_count + self.quarter * per_load;
    *reinterpret_cast<float4*>(out.lane_sums + lane) = make_float4(mine.sum[0], mine.sum[1], mine.sum[2], mine.sum[3]);
    *reinterpret_cast<float4*>(out.lane_maxima + lane) =
        make_float4(mine.top[0], mine.top[1], mine.top[2], mine.top[3]);
  }
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t i = 0; i < per_load; ++i) self.held_of(pass)[i] = mine.sum[i];
  __syncwarp();
  if (exists && self.quarter == 0) out.block_sums[block] = kernel::lane_tree(self.held_of(pass));
  __syncwarp();
}

//! The blocks from `first` to `last` of a row, by a thread block: what the lanes of this thread have at most. Whole
//! warps go through every pass together.
template <std::uint32_t InFlight, class Scalar>
[[nodiscard]] __device__ __forceinline__ best_entry digest_blocks(const digest_thread<Scalar>& self,
                                                                  std::uint32_t first, std::uint32_t last,
                                                                  const kernel::envelope<float>& weight,
                                                                  const digest_place& out) noexcept {
  best_entry best{kernel::negative_infinity<float>(), first};
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t pass = 0; first + pass * self.groups < last; ++pass) {
    const std::uint32_t block = first + pass * self.groups + self.group;
    digest_block<InFlight>(self, block, block < last, pass, weight, out, best);
  }
  return best;
}

//! The sum of a row's blocks, in their order; the first thread gets it. All block sums are there.
[[nodiscard]] __device__ __forceinline__ double sum_of_blocks(const digest_place& place, digest_room& room) noexcept {
  double total = 0;
  for (std::uint32_t first = 0; first < place.blocks; first += blockDim.x) {
    const std::uint32_t left = place.blocks - first, count = left < blockDim.x ? left : blockDim.x;
    __syncthreads();
    if (threadIdx.x < count) room.sums[threadIdx.x] = __ldcg(place.block_sums + first + threadIdx.x);
    __syncthreads();
    for (std::uint32_t i = 0; threadIdx.x == 0 && i < count; ++i) total = __dadd_rn(total, room.sums[i]);
  }
  return total;
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

//! The digest of a row whose block sums are there; the first thread gets it.
[[nodiscard]] __device__ __forceinline__ device_digest make_digest(const best_entry& best, float reference,
                                                                   double temperature, const digest_place& place,
                                                                   digest_room& room) noexcept {
  const double total = sum_of_blocks(place, room);
  device_digest digest;
  digest.made_by = digest_source::row;
  digest.argmax = static_cast<token_id>(best.id);
  digest.maximum = digest.reference = best.value;
  digest.temperature = temperature;
  digest.one_hot = is_greedy(temperature);
  if (digest.one_hot) {
    digest.coarse_total = digest.lower = digest.upper = 1;
  } else {
    digest.reference = reference;
    digest.coarse_total = total;
    digest.upper = total * (1.0 + kernel::coarse_margin);
    digest.lower = total / kernel::coarse_excess * (1.0 - kernel::coarse_margin);
  }
  return digest;
}

//! The least id with the largest logit of a row, whose value and first block are known: in that block, the lanes that
//! have it are read again. Every thread gets the id, the first one the value with the sign of a zero.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ best_entry find_in_block(const kernel::row_source<Scalar>& row,
                                                                  const digest_place& place, const best_entry& block,
                                                                  digest_room& room) noexcept {
  std::uint32_t least = no_id;
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t i = threadIdx.x; i < kernel::block_size; i += blockDim.x) {
    const std::uint32_t id = block.id * kernel::block_size + i;
    const float top = __ldcg(place.lane_maxima + block.id * kernel::lane_count + i % kernel::lane_count);
    if (least == no_id && id < row.size && top == block.value && row.value(id) == block.value) least = id;
  }
  least = least_of_block(least, &room.least);
  return {threadIdx.x == 0 && least != no_id ? row.value(least) : block.value, least};
}

[[nodiscard]] __device__ __forceinline__ kernel::envelope<float> envelope_of(float reference,
                                                                             double temperature) noexcept {
  return {reference, kernel::coarse_scale(is_greedy(temperature) ? 1.0 : temperature), false};
}

//! A row by a thread block. The digest is right in thread 0, `why` in all.
template <std::uint32_t InFlight, bool Plain, class Scalar>
[[nodiscard]] __device__ __forceinline__ device_digest digest_row(const kernel::row_source<Scalar>& row,
                                                                  const device_transform& transform,
                                                                  std::uint32_t number, const digest_place& place,
                                                                  digest_room& room) noexcept {
  digest_thread<Scalar> self(row, Plain, room.lanes);
  kernel::envelope<float> weight = envelope_of(0, temperature_of(transform, number));
  weight.reference = best_of_block(self.sample(), room.best).value;
  for (bool again = false;; again = true) {
    const best_entry mine = digest_blocks<InFlight>(self, 0, place.blocks, weight, place);
    const bool has_nan = __syncthreads_or(kernel::is_nan(mine.value)) != 0;
    const best_entry block = best_of_block(mine, room.best);
    if (has_nan || !kernel::is_finite(block.value)) {
      device_digest refused;
      refused.why = find_error(row, &room.least);
      return refused;
    }
    if (again || is_usable(weight.reference, block.value, transform, number)) {
      const best_entry best = find_in_block(row, place, block, room);
      return make_digest(best, weight.reference, temperature_of(transform, number), place, room);
    }
    weight.reference = block.value;
    self.is_held = false;
  }
}

//! A row of a batch. Plain: of one that is read as it is stored, so that registers go to loads.
template <bool Plain, class Scalar>
[[nodiscard]] __device__ __forceinline__ kernel::row_source<Scalar> open_as(const device_rows<Scalar>& rows,
                                                                            const device_transform& transform,
                                                                            std::uint32_t row) noexcept {
  kernel::row_source<Scalar> source;
  if constexpr (Plain) {
    source.data = rows.data + row * rows.pitch;
    source.size = rows.size;
  } else {
    source = open_row(rows, transform, row);
  }
  return source;
}

template <class Scalar, bool Plain>
__global__ void __launch_bounds__(digest_threads, digest_residents<Scalar, Plain>)
    digest_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out) {
  __shared__ digest_room room;
  const std::uint32_t row = blockIdx.x;
  const double temperature = temperature_of(transform, row);
  if (!is_temperature(temperature)) {  // the same for all threads
    if (threadIdx.x == 0) out.rows[row].why = {errc::invalid_temperature, part::row, 0};
    return;
  }
  const device_digest digest = digest_row<read_in_flight<Scalar, Plain>, Plain>(
      open_as<Plain>(rows, transform, row), transform, row, place_of(out, row), room);
  if (threadIdx.x == 0) out.rows[row] = digest;
}

// ---- few rows: each is split into parts, one a thread block, and the last block that ends closes the row

//! The references of rows, which their parts need; and no part has ended yet.
template <class Scalar>
__global__ void __launch_bounds__(digest_threads, 1)
    reference_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out) {
  __shared__ digest_room room;
  digest_thread<Scalar> self(open_row(rows, transform, blockIdx.x), false, room.lanes);
  const float reference = best_of_block(self.sample(), room.best).value;
  if (threadIdx.x == 0) {
    out.rows[blockIdx.x].reference = reference;
    out.parts[blockIdx.x] = 0;
  }
}

//! The largest logit of a row and the first block that has it, from the largest ones of lanes; NaN where one is.
[[nodiscard]] __device__ __forceinline__ best_entry best_of_lanes(const digest_place& place,
                                                                  digest_room& room) noexcept {
  best_entry mine{kernel::negative_infinity<float>(), 0};
  const std::uint32_t lanes = place.blocks * kernel::lane_count;
  SPECVERIFY_UNROLL(8)
  for (std::uint32_t i = threadIdx.x; i < lanes; i += blockDim.x) {
    const float top = __ldcg(place.lane_maxima + i);
    if (!(top <= mine.value)) mine = {larger_or_nan(mine.value, top), i / kernel::lane_count};
  }
  const bool has_nan = __syncthreads_or(kernel::is_nan(mine.value)) != 0;
  const best_entry block = best_of_block(mine, room.best);
  return has_nan ? best_entry{numeric::bits_as<float>(0x7FC00000u), 0} : block;
}

//! The part of a split row that a thread block reads.
struct split_part {
  std::uint32_t row, first, last;  // blocks of 1024 ids
  std::uint32_t parts;
  float reference;
  std::uint32_t* counter;  // of parts that have ended
  std::uint32_t* ended;    // in shared memory
};

//! Whether this thread block is the last of a row's parts to end. Every thread gets the answer.
[[nodiscard]] __device__ __forceinline__ bool is_last_part(std::uint32_t* counter, std::uint32_t parts,
                                                           std::uint32_t& ended) noexcept {
  __syncthreads();
  if (threadIdx.x == 0) {  // for the block: fences on both sides of the counter
    __threadfence();
    ended = atomicAdd(counter, 1u) + 1;
    __threadfence();
  }
  __syncthreads();
  return ended == parts;
}

//! Reads a part of a row, and closes the row if all other parts are done. Where its maximum stands too high above the
//! reference, the last block reads the whole row. `digest` is right in thread 0. Whether the row was closed.
template <std::uint32_t InFlight, class Scalar>
[[nodiscard]] __device__ __forceinline__ bool digest_part(digest_thread<Scalar>& self,
                                                          const device_transform& transform, const split_part& part,
                                                          const digest_place& place, digest_room& room,
                                                          device_digest& digest) noexcept {
  float reference = part.reference;
  std::uint32_t first = part.first, last = part.last;
  for (bool again = false;; again = true) {
    const double temperature = temperature_of(transform, part.row);
    (void)digest_blocks<InFlight>(self, first, last, envelope_of(reference, temperature), place);
    if (!again && !is_last_part(part.counter, part.parts, *part.ended)) return false;
    if (again) __syncthreads();
    const best_entry block = best_of_lanes(place, room);
    if (!kernel::is_finite(block.value)) {
      digest.why = find_error(self.row, &room.least);
      return true;
    }
    if (again || is_usable(reference, block.value, transform, part.row)) {
      const best_entry best = find_in_block(self.row, place, block, room);
      digest = make_digest(best, reference, temperature, place, room);
      return true;
    }
    reference = block.value;
    first = 0;
    last = place.blocks;
  }
}

template <class Scalar, bool Plain>
__global__ void __launch_bounds__(digest_threads, 1)
    split_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out, std::uint32_t parts) {
  __shared__ digest_room room;
  __shared__ std::uint32_t ended;
  const std::uint32_t number = blockIdx.x / parts, size = (out.blocks + parts - 1) / parts;
  if (!is_temperature(temperature_of(transform, number))) {  // the same for all parts of a row
    if (threadIdx.x == 0 && blockIdx.x % parts == 0) out.rows[number].why = {errc::invalid_temperature, part::row, 0};
    return;
  }
  digest_thread<Scalar> self(open_as<Plain>(rows, transform, number), Plain, room.lanes);
  self.is_held = false;
  const std::uint32_t first = blockIdx.x % parts * size, end = first + size;
  const float reference = out.rows[number].reference;
  const split_part mine{number, first, end < out.blocks ? end : out.blocks, parts, reference, out.parts + number,
                        &ended};
  device_digest digest;
  constexpr std::uint32_t loads = Plain ? plain_in_flight : digest_in_flight;
  if (!digest_part<loads>(self, transform, mine, place_of(out, number), room, digest))
    return;  // the same for the block
  if (threadIdx.x == 0) out.rows[number] = digest;
}

//! Threads that read a row of so many blocks: all passes take about as many blocks.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_of_digest(const cuda_tuning& tuning,
                                                                std::uint32_t blocks) noexcept {
  const bool is_given = tuning.digest_threads >= lanes_per_warp && tuning.digest_threads < digest_threads;
  const std::uint32_t most = is_given ? tuning.digest_threads / lanes_per_warp * lanes_per_warp : digest_threads;
  const std::uint32_t passes = (blocks * per_block + most - 1) / most;
  return threads_for((blocks + passes - 1) / passes * per_block, most);
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

//! Whether rows are read as they are stored, in wide loads.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE bool is_plain(const device_rows<Scalar>& rows,
                                              const device_transform& transform) noexcept {
  const bool aligned = reinterpret_cast<std::uintptr_t>(rows.data) % (per_load * sizeof(Scalar)) == 0;
  return aligned && rows.pitch % per_load == 0 && transform.mask_words == nullptr && transform.bias_begin == nullptr;
}

template <bool Plain, class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status enqueue_digests(exec::cuda how, const device_batch<Scalar>& batch) noexcept {
  const std::uint32_t rows = batch.rows.count, blocks = batch.digests.blocks, parts = parts_of(how.tuning, batch);
  const launch_shape whole{rows, threads_of_digest(how.tuning, blocks)};
  if (parts == 1) return enqueue(how, whole, &digest_kernel<Scalar, Plain>, batch.rows, batch.transform, batch.digests);
  const launch_shape split{rows * parts, threads_of_digest(how.tuning, (blocks + parts - 1) / parts)};
  const status why = enqueue(how, whole, &reference_kernel<Scalar>, batch.rows, batch.transform, batch.digests);
  if (!why.ok()) return why;
  return enqueue(how, split, &split_kernel<Scalar, Plain>, batch.rows, batch.transform, batch.digests, parts);
}

}  // namespace cuda_detail

//! Reads the rows of a batch: enqueues their digests, and a kernel more where rows are truncated or totals asked
//! for. Errors, of the arguments alone: size_mismatch and those of `make_device_batch`; engine_failed. Rows in error
//! say so in their digest.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status read_rows(exec::cuda how, const device_batch<Scalar>& batch,
                                                 const device_request& request = {}) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  const std::uint32_t rows = batch.rows.count, blocks = batch.digests.blocks;
  status why = cuda_detail::is_plain(batch.rows, batch.transform) ? cuda_detail::enqueue_digests<true>(how, batch)
                                                                  : cuda_detail::enqueue_digests<false>(how, batch);
  if (why.ok() && batch.transform.may_truncate())
    why = cuda_detail::enqueue(how, {rows, cuda_detail::threads_for_select(how.tuning, rows, blocks)},
                               &cuda_detail::truncate_kernel<Scalar>, batch);
  if (why.ok() && (request.exact_normaliser || request.integer_total))
    why = cuda_detail::enqueue(how, {rows, cuda_detail::threads_for_row(batch.rows.size)},
                               &cuda_detail::totals_kernel<Scalar>, batch, request);
  return why;
}

SPECVERIFY_TYPES_END

#endif
