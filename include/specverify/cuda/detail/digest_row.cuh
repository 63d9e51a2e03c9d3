// SPDX-License-Identifier: Apache-2.0
//! Computes the digest of a row with one thread block: four threads read a block of 1024 ids, four lanes per thread.
#ifndef SPECVERIFY_CUDA_DETAIL_DIGEST_ROW_CUH
#define SPECVERIFY_CUDA_DETAIL_DIGEST_ROW_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/threads.cuh>
#include <specverify/kernel/scalar/digest.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t digest_threads = 256;  // maximum; four read a block of 1024 ids
inline constexpr std::uint32_t digest_in_flight = 7;  // loads in flight per thread; 63 of a block, after the first

inline constexpr std::uint32_t held_passes = 2;  // passes whose first logits stay in shared memory

struct digest_room {
  best_entry best[most_warps];
  union {
    float lanes[held_passes * digest_threads * per_load];
    double sums[digest_threads];  // block sums, while a row is closed
  };
  std::uint32_t least;
};

//! A row as one thread of the digest reads it: lanes 4 q to 4 q + 3 of the blocks g, g + groups, ...
template <class Scalar>
struct digest_thread {
  kernel::row_source<Scalar> row;
  bool aligned;
  std::uint32_t groups, group, quarter;
  float* held;  // this thread's part of digest_room::lanes: the first logits of a pass, later replaced by sums
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
  //! Returns the index of a block's first bias.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t first_bias(std::uint32_t block) const noexcept {
    return row.bias_count == 0 ? 0 : row.bias_from(block * kernel::block_size);
  }

  //! Returns this thread's memory for a pass.
  [[nodiscard]] __device__ __forceinline__ float* held_of(std::uint32_t pass) const noexcept {
    return pass < held_passes ? held + pass * blockDim.x * per_load : held;
  }
  //! Returns the first four logits of a block that is read in this pass.
  [[nodiscard]] __device__ __forceinline__ four_logits first_of(std::uint32_t pass, std::uint32_t block,
                                                                std::uint32_t& bias) const noexcept {
    if (pass >= held_passes || !is_held) return load_four(row, aligned, id_of(block, 0), bias);
    const float* first = held_of(pass);
    return {{first[0], first[1], first[2], first[3]}};
  }

  //! Returns the largest of the first 16 logits over the blocks that this thread reads.
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

//! Destination of the sums of one row.
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

//! Sums and largest values of four lanes of one block. If a row has a NaN, one of these is NaN.
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

//! Reads four lanes of a block. `InFlight`: loads in flight per thread, which must divide 63; the last block of a row
//! may have fewer.
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
      if (step + k < steps) mine.add(group.at[k], weight);  // this weight would be above 0 for -infinity
  }
  return mine;
}

//! Reads one block of 1024 ids: lane sums and maxima, and the block sum on the first of the block's four threads. All
//! lanes of a warp must call it together; lanes without a block pass `exists` = false. `best` is the largest value of a
//! thread's lanes with the first block that has it, or NaN if there is one.
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

//! Reads the blocks from `first` to `last` of a row, on a thread block, and returns the maximum of this thread's lanes.
//! Whole warps go through every pass together.
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

//! Returns the sum of a row's blocks, in order; the first thread gets it. All block sums must be written before.
[[nodiscard]] __device__ __forceinline__ double sum_of_blocks(const digest_place& place, digest_room& room) noexcept {
  double total = 0;
  for (std::uint32_t first = 0; first < place.blocks; first += blockDim.x) {
    const std::uint32_t left = place.blocks - first, count = left < blockDim.x ? left : blockDim.x;
    __syncthreads();
    if (threadIdx.x < count) room.sums[threadIdx.x] = __ldcg(place.block_sums + first + threadIdx.x);
    __syncthreads();
    if (threadIdx.x != 0) continue;
    SPECVERIFY_UNROLL(8)
    for (std::uint32_t i = 0; i < count; ++i) total = __dadd_rn(total, room.sums[i]);
  }
  return total;
}

//! Returns whether a maximum is at most 60 T above the reference. The temperature is loaded again because no thread
//! keeps it.
[[nodiscard]] __device__ __forceinline__ bool is_usable(float reference, float maximum,
                                                        const device_transform& transform,
                                                        std::uint32_t number) noexcept {
  const double temperature = temperature_of(transform, number);
  return is_greedy(temperature) ||
         (kernel::is_finite(reference) &&
          static_cast<double>(maximum) - static_cast<double>(reference) <= kernel::coarse_range * temperature);
}

//! Makes the digest of a row from the block sums, which must be written; the first thread gets it.
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

//! Returns the least id with a row's largest logit. `block` must have this logit and the first block that contains it.
//! Every thread gets the id. The first thread also gets the stored logit, because `block` can have a zero of the other
//! sign.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ best_entry find_in_block(const kernel::row_source<Scalar>& row,
                                                                  const digest_place& place, const best_entry& block,
                                                                  digest_room& room) noexcept {
  std::uint32_t least = no_id;
  const std::uint32_t lane = threadIdx.x % kernel::lane_count;
  if (__ldcg(place.lane_maxima + block.id * kernel::lane_count + lane) == block.value) {
    SPECVERIFY_UNROLL(4)  // independent loads
    for (std::uint32_t i = threadIdx.x; i < kernel::block_size; i += blockDim.x) {
      const std::uint32_t id = block.id * kernel::block_size + i;
      const bool is_here = id < row.size && row.value(id) == block.value;
      if (is_here && least == no_id) least = id;
    }
  }
  least = least_of_block(least, &room.least);
  return {threadIdx.x == 0 && least != no_id ? row.value(least) : block.value, least};
}

[[nodiscard]] __device__ __forceinline__ kernel::envelope<float> envelope_of(float reference,
                                                                             double temperature) noexcept {
  return {reference, kernel::coarse_scale(is_greedy(temperature) ? 1.0 : temperature), false};
}

//! Reads a row on a thread block. The digest is correct only in thread 0, `why` in all threads.
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

//! Opens a row of a batch. If `Plain`, reads it as it is stored, because that leaves more registers for loads.
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

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
