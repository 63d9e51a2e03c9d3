// SPDX-License-Identifier: Apache-2.0
//! Counts, for each row of a batch, how many draws at random temperatures differ from the drafted token, on a GPU.
//!
//! Use it after `read_rows` (digest.cuh), on the same batch, with the drafted tokens. It needs the fewest reads if the
//! batch's temperature is between half of the maximum temperature and the maximum.
//! Guarantees: counts equal the results of `temperature_perturbation` except at near ties. Twenty draws take at most
//!             one read of most rows, because bounds from the digest decide most draws. No allocation.
//! Deviates:   the grid of temperatures (`expected_disagreement`) exists only on the CPU.
//! See:        docs/algorithms/cuda.md, tests/device/temperature_perturbation_test.cpp
#ifndef SPECVERIFY_CUDA_TEMPERATURE_PERTURBATION_CUH
#define SPECVERIFY_CUDA_TEMPERATURE_PERTURBATION_CUH

#include <specverify/cuda/detail/tempered.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

using detail::tempered_answer;

//! Bounds the sum of exponentials over all ids except the largest of each lane of the digest. Runs on the whole block.
template <class Scalar>
__device__ __forceinline__ void begin_rest(const tempered_row<Scalar>& row, const device_digest& digest,
                                           tempered_room& room) noexcept {
  const kernel::envelope<float> weight{digest.reference,
                                       kernel::coarse_scale(digest.one_hot ? 1.0 : digest.temperature), false};
  double tops = 0;
  std::uint32_t count = 0;
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t i = threadIdx.x; i < row.count_of_tops(); i += blockDim.x) {
    const float4 four = __ldg(row.tops() + i);
    const float all[] = {four.x, four.y, four.z, four.w};
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t k = 0; k < per_load; ++k) {
      if (!kernel::is_finite(all[k])) continue;
      tops += static_cast<double>(weight(all[k]));
      ++count;
    }
  }
  tops = real_sum_of_block(tops, room.partial);
  const double listed = real_sum_of_block(static_cast<double>(count), room.partial);
  if (threadIdx.x != 0) return;
  room.rest.begin(row.batch.rows.size - static_cast<std::uint32_t>(listed), 0);
  if (digest.one_hot || digest.truncated) return;  // the sums belong to another distribution
  const double shift = static_cast<double>(digest.reference) - static_cast<double>(digest.maximum);
  room.rest.learn_coarse({digest.coarse_total - tops, digest.coarse_total, shift, digest.temperature},
                         row.batch.rows.size);
}

//! Draws temperature and uniform of sample `m`, on each lane of the first warp. A point mass is decided immediately.
template <class Scalar, class Key>
[[nodiscard]] __device__ __forceinline__ tempered_answer ask(const device_batch<Scalar>& batch, token_id token,
                                                             const perturbation_options& options,
                                                             const device_uniforms<Key>& random, std::uint32_t m,
                                                             tempered_room& room) noexcept {
  const std::uint32_t number = blockIdx.x, lane = lane_of_thread();
  room.temperatures[lane] = 0;
  if (m >= options.samples) return tempered_answer::miss;
  const device_stream<Key> at = random.at(purpose::perturbation_temperature, m);
  const device_stream<Key> drawn = random.at(purpose::perturbed_draw, m);
  const double temperature = options.maximum_temperature * decision_uniform(at.at(number, at.first_of(number)));
  if (temperature < detail::coldest)
    return token == batch.digests.rows[number].argmax ? tempered_answer::hit : tempered_answer::miss;
  const double inverse = 1.0 / temperature, weight = kernel::exponential(room.difference * inverse);
  if (!(weight > 0.0)) return tempered_answer::miss;
  room.temperatures[lane] = temperature;
  room.inverses[lane] = inverse;
  room.weights[lane] = weight;
  room.drawn[lane] = decision_uniform(drawn.at(number, drawn.first_of(number)));
  return tempered_answer::open;
}

//! Returns this lane's decision for bounds on Z, or `open` if the bounds do not decide.
[[nodiscard]] __device__ __forceinline__ tempered_answer answer_of(const detail::bracket& total,
                                                                   const tempered_room& room) noexcept {
  return detail::answer_within(room.weights[lane_of_thread()], room.drawn[lane_of_thread()], total);
}

//! Checks the bounds, and chooses the first open draws for the next read. Runs on the first warp. The function is not
//! inlined, because its doubles would take registers from the sums.
[[nodiscard]] SPECVERIFY_DEVICE_CALL tempered_answer look(tempered_answer answer, tempered_room& room) noexcept {
  const std::uint32_t lane = lane_of_thread();
  if (answer == tempered_answer::open) {
    const double tops = room.tops[lane];
    const detail::bracket rest = room.rest.at(room.inverses[lane]);
    answer = answer_of({tops + rest.lower, tops + rest.upper}, room);
  }
  const bool is_open = answer == tempered_answer::open;
  const std::uint32_t open = __ballot_sync(all_lanes, is_open);
  const auto before = static_cast<std::uint32_t>(__popc(open & ((1u << lane) - 1)));
  const auto count = static_cast<std::uint32_t>(__popc(open));
  if (is_open && before < asked_at_once) room.asked[before] = lane;
  if (lane >= count && lane < asked_at_once) room.asked[lane] = 0;  // summed but not used
  if (lane != 0) return answer;
  room.asked_count = count < asked_at_once ? count : asked_at_once;
  room.more = count > asked_at_once || !room.is_last;
  return answer;
}

//! Stores the totals of a read, and decides draws with them. A draw that is too close is added to room.exact. Runs on
//! the first warp.
[[nodiscard]] SPECVERIFY_DEVICE_CALL tempered_answer learn(tempered_answer answer, tempered_room& room) noexcept {
  const std::uint32_t lane = lane_of_thread();
  bool is_close = false;
  for (std::uint32_t t = 0; t < room.asked_count; ++t) {
    const double total = room.totals[t];
    const std::uint32_t m = room.asked[t];
    if (lane == 0 && room.more) room.rest.learn_total(room.inverses[m], total, room.tops[m]);
    if (lane != m) continue;
    answer = answer_of({total, total}, room);
    is_close = answer == tempered_answer::open;
  }
  const std::uint32_t close = __ballot_sync(all_lanes, is_close);
  if (is_close) answer = tempered_answer::miss;  // until the exact sum is known
  if (lane == 0) ++room.reads;
  if (lane == 0) room.exact |= close;
  __syncwarp();
  return answer;
}

//! Decides the draws of the first warp's lanes. Runs on the whole block.
template <class Scalar>
__device__ __forceinline__ void decide(const tempered_row<Scalar>& row, tempered_answer& answer,
                                       tempered_room& room) noexcept {
  const bool leads = warp_of_thread() == 0;
  if (threadIdx.x == 0) room.exact = 0;
  __syncthreads();
  sum_tops(row, room);
  __syncthreads();
  for (;;) {
    if (leads) answer = look(answer, room);
    __syncthreads();
    const std::uint32_t asked = room.asked_count;
    if (asked == 0) break;  // uniform across the block
    if (asked <= 2) {
      sum_quickly<2>(row, room);
    } else if (asked <= 4) {
      sum_quickly<4>(row, room);
    } else {
      sum_quickly<asked_at_once>(row, room);
    }
    if (leads) answer = learn(answer, room);
  }
  for (std::uint32_t left = room.exact; left != 0; left &= left - 1) {
    const auto m = static_cast<std::uint32_t>(__ffs(static_cast<int>(left))) - 1;
    const double total = sum_exactly(row, room.inverses[m], room);
    if (leads && lane_of_thread() == m && room.drawn[m] * total < room.weights[m]) answer = tempered_answer::hit;
  }
  if (threadIdx.x == 0) room.reads += static_cast<std::uint32_t>(__popc(room.exact));
  __syncthreads();  // the workspace is reused
}

template <class Scalar, class Key>
__global__ void __launch_bounds__(tempered_threads, 1)
    tempered_kernel(device_batch<Scalar> batch, const token_id* tokens, perturbation_options options,
                    device_uniforms<Key> random, device_disagreement* out) {
  __shared__ tempered_room room;
  const device_digest& digest = batch.digests.rows[blockIdx.x];
  const token_id token = tokens[blockIdx.x];
  status why = digest.of_whole_row();
  if (why.ok() && (token < 0 || static_cast<std::uint32_t>(token) >= batch.rows.size))
    why = {errc::token_out_of_range, part::row, 0};
  if (!why.ok()) {  // uniform across the block
    if (threadIdx.x == 0) out[blockIdx.x] = {why, 0, 0, 0};
    return;
  }
  const tempered_row<Scalar> row{batch, digest.maximum};
  if (threadIdx.x == 0) {
    const float drafted = row.open().value(static_cast<std::uint32_t>(token));
    room.difference = static_cast<double>(drafted) - static_cast<double>(digest.maximum);
    room.reads = 0;
  }
  begin_rest(row, digest, room);
  std::uint32_t hits = 0;  // number of hits of this lane
  for (std::uint32_t first = 0; first < options.samples; first += tempered_lanes) {
    tempered_answer answer = tempered_answer::miss;
    if (threadIdx.x == 0) room.is_last = options.samples - first <= tempered_lanes;
    if (warp_of_thread() == 0) answer = ask(batch, token, options, random, first + lane_of_thread(), room);
    decide(row, answer, room);
    hits += answer == tempered_answer::hit ? 1 : 0;
  }
  hits = __reduce_add_sync(all_lanes, hits);
  if (threadIdx.x == 0) out[blockIdx.x] = {{}, options.samples - hits, options.samples, room.reads};
}

}  // namespace cuda_detail

//! Enqueues the count, for each row, of the draws among options.samples that are not tokens[row]. The batch's
//! temperature and truncation have no effect.
//! Errors of the call: as for `read_rows` and for check(options); null_span (tokens, keys, positions, rounds or
//! `found`).
//! Errors of a row: the digest's error, token_out_of_range.
template <class Scalar, class Key>
[[nodiscard]] SPECVERIFY_INLINE status temperature_perturbation(exec::cuda how, const device_batch<Scalar>& batch,
                                                                const token_id* tokens,
                                                                const perturbation_options& options,
                                                                const device_uniforms<Key>& random,
                                                                device_disagreement* found) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (const status why = check(options); !why.ok()) return why;
  const bool placed = random.at(purpose::perturbed_draw).has_all();
  if (tokens == nullptr || found == nullptr || !placed) return device_detail::refusal(errc::null_span);
  const std::uint32_t threads =
      cuda_detail::threads_for_rows(how.tuning, batch.rows.size, batch.rows.count, cuda_detail::tempered_threads);
  return cuda_detail::enqueue(how, {batch.rows.count, threads}, &cuda_detail::tempered_kernel<Scalar, Key>, batch,
                              tokens, options, random, found);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
