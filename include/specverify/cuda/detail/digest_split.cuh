// SPDX-License-Identifier: Apache-2.0
//! Computes digests if there are few rows: each row is split into parts, one per thread block. The last thread block of
//! a row combines the parts.
#ifndef SPECVERIFY_CUDA_DETAIL_DIGEST_SPLIT_CUH
#define SPECVERIFY_CUDA_DETAIL_DIGEST_SPLIT_CUH

#include <specverify/cuda/detail/digest_row.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

// loads in flight for split rows whose logits are read as they are stored
inline constexpr std::uint32_t plain_in_flight = 21;
inline constexpr std::uint32_t reference_threads = 1024;  // maximum

//! Computes the references of rows, which the parts need: the largest of the first 16 logits of every block. It also
//! resets the counters of parts. Four logits per thread.
template <class Scalar>
__global__ void __launch_bounds__(reference_threads, 1)
    reference_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out) {
  __shared__ best_entry room[most_warps];
  const kernel::row_source<Scalar> row = open_row(rows, transform, blockIdx.x);
  const bool aligned = is_aligned(row.data);
  best_entry best{kernel::negative_infinity<float>(), 0};
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t i = threadIdx.x; i < out.blocks * per_block; i += blockDim.x) {
    const std::uint32_t id = i / per_block * kernel::block_size + i % per_block * per_load;
    std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(id);
    const four_logits first = load_four(row, aligned, id, bias);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t k = 0; k < per_load; ++k)
      if (first.at[k] > best.value) best = {first.at[k], id + k};
  }
  best = best_of_block(best, room);
  if (threadIdx.x == 0) {
    out.rows[blockIdx.x].reference = best.value;
    out.parts[blockIdx.x] = 0;
  }
}

//! Returns the largest logit of a row and the first block that has it, from the lane maxima, or NaN if there is one.
[[nodiscard]] __device__ __forceinline__ best_entry best_of_lanes(const digest_place& place,
                                                                  digest_room& room) noexcept {
  best_entry mine{kernel::negative_infinity<float>(), 0};
  const std::uint32_t fours = place.blocks * per_block;
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t i = threadIdx.x; i < fours; i += blockDim.x) {
    const float4 tops = __ldcg(reinterpret_cast<const float4*>(place.lane_maxima) + i);
    const float top = larger_or_nan(larger_or_nan(tops.x, tops.y), larger_or_nan(tops.z, tops.w));
    if (!(top <= mine.value)) mine = {larger_or_nan(mine.value, top), i / per_block};
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
  std::uint32_t* counter;  // number of parts that have ended
  std::uint32_t* ended;    // the same number, in shared memory, when this part ended
};

//! Returns whether this thread block is the last of a row's parts to end. Every thread gets the result.
[[nodiscard]] __device__ __forceinline__ bool is_last_part(std::uint32_t* counter, std::uint32_t parts,
                                                           std::uint32_t& ended) noexcept {
  __syncthreads();
  if (threadIdx.x == 0) {  // one thread for the block, with fences before and after the counter
    __threadfence();
    ended = atomicAdd(counter, 1u) + 1;
    __threadfence();
  }
  __syncthreads();
  return ended == parts;
}

//! Reads a part of a row. If all other parts are done, also closes the row. If the maximum is too high above the
//! reference, the last thread block to finish reads the whole row. Returns whether the row is closed. `digest` is
//! correct only in thread 0.
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
  if (!is_temperature(temperature_of(transform, number))) {  // uniform across the parts of a row
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
    return;  // uniform across the block
  if (threadIdx.x == 0) out.rows[number] = digest;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
