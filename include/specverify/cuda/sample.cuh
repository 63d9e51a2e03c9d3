// SPDX-License-Identifier: Apache-2.0
//! Draws one token from the distribution of each row of a batch, on a GPU. This is the canonical draw of
//! row/sample.hpp.
//!
//! Use it after `read_rows` (digest.cuh), on the same batch. Keys, positions and rounds are read when the kernel runs.
//! Guarantees: tokens equal the results of a CPU that does not fuse products and sums, for any flags of nvcc except
//!             -ftz=true. A trial reads the block sums and at most 65 logits, and 96 % of the draws need one trial.
//!             After `trial_cap` trials, the exact rule reads the row twice, serially. Truncated rows always use this
//!             rule, on the kept ids. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/sample_test.cpp
#ifndef SPECVERIFY_CUDA_SAMPLE_CUH
#define SPECVERIFY_CUDA_SAMPLE_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/kernel/scalar/locate.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t staged_blocks = 512;                                 // sums in shared memory
inline constexpr std::uint32_t lane_ids = kernel::block_size / kernel::lane_count;  // ids per lane of a block

//! Envelope weights of a proposal's lane.
struct proposal_room {
  float entries[lane_ids];
};
struct sample_room {
  double sums[staged_blocks];
  double weights[lanes_per_warp];
};

inline constexpr std::uint32_t sample_trials = 4;  // trials at a time, one per warp

//! Trials that run at once.
struct trial_room {
  proposal_room proposals[sample_trials];
  token_id tokens[sample_trials];
};

//! A row to draw tokens from, with the sums of its digest.
template <class Scalar>
struct drawn_row {
  kernel::row_source<Scalar> source;
  kernel::envelope<float> envelope;
  kernel::exact_weight exact;
  const double* block_sums;  // in shared memory if they fit, otherwise in the digest
  const float* lane_sums;
  std::uint32_t blocks;
  double total;

  [[nodiscard]] __device__ __forceinline__ double weight(std::uint32_t id) const noexcept {
    return exact(static_cast<double>(source.value(id)));
  }
};

//! A proposed id (no_id: there is none), the envelope weight of the id, and the lane's sum in double divided by the
//! lane's sum in float.
struct row_proposal {
  std::uint32_t id = no_id;
  double envelope = 0;
  double correction = 1;
};

//! Makes one proposal, in lane 0 of the warp. The caller must call __syncwarp before the next proposal.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ row_proposal propose(const drawn_row<Scalar>& row, const random_block& random,
                                                              proposal_room& room) noexcept {
  const bool leads = lane_of_thread() == 0;
  double position = numeric::product(decision_uniform(random, 0), row.total);
  std::uint32_t found = no_id;  // block * 16 + lane
  if (leads) {
    const auto block = static_cast<std::uint32_t>(kernel::locate(row.block_sums, row.blocks, position));
    if (block < row.blocks) {
      const std::size_t lane = kernel::locate(row.lane_sums + block * kernel::lane_count, kernel::lane_count, position);
      if (lane < kernel::lane_count) found = block * kernel::lane_count + static_cast<std::uint32_t>(lane);
    }
  }
  found = __shfl_sync(all_lanes, found, 0);
  row_proposal proposed;
  if (found == no_id) return proposed;
  const std::uint32_t first = found / kernel::lane_count * kernel::block_size + found % kernel::lane_count;
  const std::uint32_t left = (row.source.size - first + kernel::lane_count - 1) / kernel::lane_count;
  const std::uint32_t count = first >= row.source.size ? 0 : left < lane_ids ? left : lane_ids;
  for (std::uint32_t i = lane_of_thread(); i < count; i += lanes_per_warp)
    room.entries[i] = row.envelope(row.source.value(first + i * kernel::lane_count));
  __syncwarp();
  if (leads) {
    double sum = 0;
    SPECVERIFY_UNROLL(8)
    for (std::uint32_t i = 0; i < count; ++i) sum = __dadd_rn(sum, static_cast<double>(room.entries[i]));
    proposed.correction = sum / static_cast<double>(row.lane_sums[found]);
    position = numeric::product(position, proposed.correction);
    const std::size_t at = kernel::locate(room.entries, count, position);
    if (at < count) {
      proposed.id = first + static_cast<std::uint32_t>(at) * kernel::lane_count;
      proposed.envelope = static_cast<double>(room.entries[at]);
    }
  }
  return proposed;
}

//! Makes one trial. Returns the token, or no_token if the proposal is rejected. The result is correct only in lane 0.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ token_id try_once(const drawn_row<Scalar>& row, const random_block& random,
                                                           proposal_room& room) noexcept {
  const row_proposal proposed = propose(row, random, room);
  if (proposed.id != no_id && decision_uniform(random, 1) * proposed.envelope <
                                  kernel::envelope_slack * proposed.correction * row.weight(proposed.id))
    return static_cast<token_id>(proposed.id);
  return no_token;
}

//! Makes trials, starting at the counter `first`, until one is accepted, as in serial order. Returns the number of
//! trials made, or `cap` if none is accepted. Every thread gets the number and the token.
template <class Scalar, class Key>
[[nodiscard]] __device__ __forceinline__ std::uint32_t draw_in_trials(const drawn_row<Scalar>& row,
                                                                      const device_stream<Key>& random,
                                                                      random_counter first, std::uint32_t cap,
                                                                      trial_room& room, token_id& token) noexcept {
  const std::uint32_t warp = warp_of_thread();
  for (std::uint32_t made = 0; made < cap; made += sample_trials) {
    if (warp < cap - made) {
      random_counter counter = first;
      counter.lane += made + warp;
      const token_id mine = try_once(row, random.at(blockIdx.x, counter), room.proposals[warp]);
      if (lane_of_thread() == 0) room.tokens[warp] = mine;
    }
    __syncthreads();
    for (std::uint32_t i = 0; i < sample_trials && i < cap - made; ++i) {  // uniform across the block
      token = room.tokens[i];
      if (token != no_token) return made + i + 1;
    }
    __syncthreads();  // the workspace may be overwritten from here on
  }
  return cap;
}

//! Sums a row's exact weights serially, and returns the id at which the sum first exceeds `target`. If the sum never
//! exceeds it, returns the last id of positive weight, or no_token if there is none. `sum` is correct only in lane 0.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ token_id walk(const drawn_row<Scalar>& row, double target, double& sum,
                                                       sample_room& room) noexcept {
  token_id last = no_token;
  sum = 0;
  bool over = false;
  for (std::uint32_t first = 0; first < row.source.size; first += lanes_per_warp) {
    const std::uint32_t id = first + lane_of_thread();
    room.weights[lane_of_thread()] = id < row.source.size ? row.weight(id) : 0.0;
    __syncwarp();
    if (lane_of_thread() == 0) {
      for (std::uint32_t i = 0; i < lanes_per_warp && !over; ++i) {
        if (!(room.weights[i] > 0.0)) continue;
        last = static_cast<token_id>(first + i);
        sum = __dadd_rn(sum, room.weights[i]);
        over = sum > target;
      }
    }
    __syncwarp();
    over = __shfl_sync(all_lanes, over ? 1 : 0, 0) != 0;
    if (over) break;
  }
  return __shfl_sync(all_lanes, last, 0);
}

//! The exact rule: returns the least id whose running sum exceeds uniform * Z.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ token_id exact_token(const drawn_row<Scalar>& row, double uniform,
                                                              sample_room& room) noexcept {
  double mass = 0, sum = 0;
  (void)walk(row, 1.0e300, mass, room);
  return walk(row, uniform * mass, sum, room);
}

//! The exact rule on a truncated row: returns the least kept id whose running sum of e_v exceeds `target`, or the last
//! kept id if no sum does.
[[nodiscard]] __device__ __forceinline__ token_id kept_token(const device_digests& digests, std::uint32_t number,
                                                             double target, sample_room& room) noexcept {
  const std::size_t start = std::size_t{number} * digests.kept_capacity;
  const std::uint32_t kept = digests.rows[number].kept;
  std::uint32_t last = no_id;
  double sum = 0;
  bool over = false;
  for (std::uint32_t first = 0; first < kept && !over; first += lanes_per_warp) {
    const std::uint32_t at = first + lane_of_thread();
    room.weights[lane_of_thread()] = at < kept ? digests.kept_weights[start + at] : 0.0;
    __syncwarp();
    if (lane_of_thread() == 0) {
      for (std::uint32_t i = 0; i < lanes_per_warp && !over; ++i) {
        if (!(room.weights[i] > 0.0)) continue;
        last = first + i;
        sum = __dadd_rn(sum, room.weights[i]);
        over = sum > target;
      }
    }
    __syncwarp();
    over = __shfl_sync(all_lanes, over ? 1 : 0, 0) != 0;
  }
  last = __shfl_sync(all_lanes, last, 0);
  return last == no_id ? no_token : digests.kept_ids[start + last];
}

// 8 blocks per multiprocessor leave 64 registers per thread. Without this bound nvcc 13.0 uses 48 and spills for the
// compute capabilities 10.0 and 12.0.
template <class Scalar, class Key>
__global__ void __launch_bounds__(sample_trials* lanes_per_warp, 8)
    sample_kernel(device_batch<Scalar> batch, device_stream<Key> random, device_draw options, device_token* out) {
  __shared__ sample_room room;
  __shared__ trial_room trials;
  const device_digests& digests = batch.digests;
  const std::uint32_t number = blockIdx.x;
  const device_digest& digest = digests.rows[number];
  device_token drawn;
  drawn.why = digest.of_whole_row();
  if (drawn.why.ok() && digest.one_hot) drawn.token = digest.argmax;
  if (drawn.why.ok() && digest.truncated) {  // a truncated row is drawn from only by the exact rule
    const double uniform = decision_uniform(random.at(number, random.first_of(number)));
    drawn.exact = true;
    if (warp_of_thread() == 0) drawn.token = kept_token(digests, number, uniform * digest.normaliser, room);
  }
  if (drawn.why.ok() && !digest.one_hot && !digest.truncated) {
    const double* const sums = digests.block_sums + std::size_t{number} * digests.blocks;
    const bool is_staged = digests.blocks <= staged_blocks;
    for (std::uint32_t b = threadIdx.x; is_staged && b < digests.blocks; b += blockDim.x) room.sums[b] = sums[b];
    __syncthreads();
    const drawn_row<Scalar> row{open_row(batch.rows, batch.transform, number),
                                {digest.reference, kernel::coarse_scale(digest.temperature), false},
                                {static_cast<double>(digest.reference), 1.0 / digest.temperature, false},
                                is_staged ? room.sums : sums,
                                digests.lane_sums + std::size_t{number} * digests.blocks * kernel::lane_count,
                                digests.blocks,
                                digest.coarse_total};
    random_counter counter = random.first_of(number);
    drawn.trials = draw_in_trials(row, random, counter, options.trial_cap, trials, drawn.token);
    drawn.exact = drawn.token == no_token;
    counter.lane += options.trial_cap;
    if (drawn.exact && warp_of_thread() == 0)
      drawn.token = exact_token(row, decision_uniform(random.at(number, counter)), room);
  }
  if (threadIdx.x == 0) out[number] = drawn;
}

}  // namespace cuda_detail

//! Enqueues one draw per row into `tokens`. It needs the digests of `read_rows`. Errors: as for `read_rows`; null_span
//! (keys, positions, rounds or tokens).
template <class Scalar, class Key>
[[nodiscard]] SPECVERIFY_INLINE status sample(exec::cuda how, const device_batch<Scalar>& batch,
                                              const device_stream<Key>& random, device_token* tokens,
                                              const device_draw& options = {}) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (tokens == nullptr || !random.has_all()) return device_detail::refusal(errc::null_span);
  return cuda_detail::enqueue(how, {batch.rows.count, cuda_detail::sample_trials * cuda_detail::lanes_per_warp},
                              &cuda_detail::sample_kernel<Scalar, Key>, batch, random, options, tokens);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
