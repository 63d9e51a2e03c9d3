// SPDX-License-Identifier: Apache-2.0
//! How often draws at random temperatures give another token than the one drafted, for each row of a batch, on a GPU.
//!
//! Use it after digest.cuh, on the same batch, with the tokens that were drafted. A batch whose temperature is half to
//! all of the highest one asked for needs the fewest reads, as on the host.
//! Symbols:    as in uncertainty/temperature_perturbation.hpp and row/tempered.hpp. A lane of the first warp a draw.
//! Shape:      a thread block a row. The largest logit of each lane of the digest is summed at every temperature. All
//!             other ids lie between convex bounds, at first from the digest's coarse sum. Draws that the bounds leave
//!             open are summed in float, eight of them in one read, and what is too close even then in double.
//! Guarantees: counts are those of `temperature_perturbation` but for near ties: bounds are certified, and exact sums
//!             run in the host's order. Twenty draws take at most one read of most rows. No allocation, no
//!             synchronisation, nothing is read back.
//! Deviates:   no grid of temperatures (expected_disagreement): that stays on the host.
//! See:        docs/algorithms/cuda.md, tests/device/temperature_perturbation_test.cpp
#ifndef SPECVERIFY_CUDA_TEMPERATURE_PERTURBATION_CUH
#define SPECVERIFY_CUDA_TEMPERATURE_PERTURBATION_CUH

#include <specverify/cuda/detail/tempered.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/uncertainty/temperature_perturbation.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

using detail::tempered_answer;

//! What one group of draws added.
struct tempered_count {
  std::uint32_t hits = 0;   // of this lane
  std::uint32_t reads = 0;  // the same for all threads
};

//! The bounds of all ids but the largest of each lane. By the whole block.
template <class Scalar>
__device__ __forceinline__ void begin_rest(const tempered_row<Scalar>& row, const device_digest& digest,
                                           tempered_room& room) noexcept {
  const kernel::envelope<float> weight{digest.reference,
                                       kernel::coarse_scale(digest.one_hot ? 1.0 : digest.temperature), false};
  double tops = 0;
  std::uint32_t count = 0;
  for (std::uint32_t i = threadIdx.x; i < row.lanes; i += blockDim.x) {
    const float top = row.lane_maxima[i];
    if (!kernel::is_finite(top)) continue;
    tops += static_cast<double>(weight(top));
    ++count;
  }
  tops = real_sum_of_block(tops, room.partial);
  const double listed = real_sum_of_block(static_cast<double>(count), room.partial);
  if (threadIdx.x != 0) return;
  room.rest.begin(row.source.size - static_cast<std::uint32_t>(listed), 0);
  if (digest.one_hot || digest.truncated) return;  // its sums are those of another law
  const double shift = static_cast<double>(digest.reference) - static_cast<double>(digest.maximum);
  room.rest.learn_coarse({digest.coarse_total - tops, digest.coarse_total, shift, digest.temperature}, row.source.size);
}

//! Draws temperature and uniform of sample `m`; by each lane of the first warp. A point mass is decided at once.
template <class Scalar, class Key>
[[nodiscard]] __device__ __forceinline__ tempered_answer ask(const device_batch<Scalar>& batch, token_id token,
                                                             double difference, const perturbation_options& options,
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
  const double inverse = 1.0 / temperature, weight = kernel::exponential(difference * inverse);
  if (!(weight > 0.0)) return tempered_answer::miss;
  room.temperatures[lane] = temperature;
  room.inverses[lane] = inverse;
  room.weights[lane] = weight;
  room.drawn[lane] = decision_uniform(drawn.at(number, drawn.first_of(number)));
  return tempered_answer::open;
}

//! This lane's answer where Z lies within bounds.
[[nodiscard]] __device__ __forceinline__ tempered_answer answer_of(const detail::bracket& total,
                                                                   const tempered_room& room) noexcept {
  return detail::answer_within(room.weights[lane_of_thread()], room.drawn[lane_of_thread()], total);
}

//! Looks at the bounds, and names the first of the open draws for the next read. By the first warp.
__device__ __forceinline__ void look(tempered_answer& answer, tempered_room& room) noexcept {
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
  if (lane >= count && lane < asked_at_once) room.asked[lane] = 0;  // summed for nothing
  if (lane == 0) room.asked_count = count < asked_at_once ? count : asked_at_once;
}

//! Enters the totals of a read, and decides by them. What is too close joins room.exact. By the first warp.
__device__ __forceinline__ void learn(tempered_answer& answer, tempered_room& room) noexcept {
  const std::uint32_t lane = lane_of_thread();
  bool is_close = false;
  for (std::uint32_t t = 0; t < room.asked_count; ++t) {
    const double total = room.totals[t];
    const std::uint32_t m = room.asked[t];
    if (lane == 0) room.rest.learn_total(room.inverses[m], total, room.tops[m]);
    if (lane != m) continue;
    answer = answer_of({total, total}, room);
    is_close = answer == tempered_answer::open;
  }
  const std::uint32_t close = __ballot_sync(all_lanes, is_close);
  if (is_close) answer = tempered_answer::miss;  // until the exact sum is there
  if (lane == 0) room.exact |= close;
  __syncwarp();
}

//! The draws from sample `first` on. By the whole block.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ tempered_count decide(const tempered_row<Scalar>& row, tempered_answer& answer,
                                                               tempered_room& room) noexcept {
  const bool leads = warp_of_thread() == 0;
  tempered_count found;
  if (threadIdx.x == 0) room.exact = 0;
  __syncthreads();
  sum_tops(row, room);
  __syncthreads();
  for (;; ++found.reads) {
    if (leads) look(answer, room);
    __syncthreads();
    const std::uint32_t asked = room.asked_count;
    if (asked == 0) break;  // the same for all threads
    if (asked <= 2) {
      sum_quickly<2>(row, room);
    } else {
      sum_quickly<asked_at_once>(row, room);
    }
    if (leads) learn(answer, room);
  }
  for (std::uint32_t left = room.exact; left != 0; left &= left - 1, ++found.reads) {
    const auto m = static_cast<std::uint32_t>(__ffs(static_cast<int>(left))) - 1;
    const double inverse = room.inverses[m];
    const double total = sum_exactly(row.source, {static_cast<double>(row.maximum), inverse, false}, room);
    if (leads && lane_of_thread() == m && room.drawn[m] * total < room.weights[m]) answer = tempered_answer::hit;
  }
  __syncthreads();  // the room is used again
  found.hits = answer == tempered_answer::hit ? 1 : 0;
  return found;
}

template <class Scalar, class Key>
__global__ void __launch_bounds__(tempered_threads, 1)
    tempered_kernel(device_batch<Scalar> batch, const token_id* tokens, perturbation_options options,
                    device_uniforms<Key> random, device_disagreement* out) {
  __shared__ tempered_room room;
  const std::uint32_t number = blockIdx.x;
  const device_digest& digest = batch.digests.rows[number];
  const token_id token = tokens[number];
  device_disagreement found;
  found.why = digest.of_whole_row();
  if (found.why.ok() && (token < 0 || static_cast<std::uint32_t>(token) >= batch.rows.size))
    found.why = {errc::token_out_of_range, part::row, 0};
  if (found.why.ok()) {
    tempered_row<Scalar> row;
    row.source = open_row(batch.rows, batch.transform, number);
    row.lanes = batch.digests.blocks * kernel::lane_count;
    row.lane_maxima = batch.digests.lane_maxima + std::size_t{number} * row.lanes;
    row.maximum = digest.maximum;
    row.aligned = is_aligned(row.source.data);
    const double difference =
        static_cast<double>(row.source.value(static_cast<std::uint32_t>(token))) - static_cast<double>(digest.maximum);
    begin_rest(row, digest, room);
    std::uint32_t hits = 0;
    for (std::uint32_t first = 0; first < options.samples; first += tempered_lanes) {
      tempered_answer answer = tempered_answer::miss;
      if (warp_of_thread() == 0)
        answer = ask(batch, token, difference, options, random, first + lane_of_thread(), room);
      const tempered_count added = decide(row, answer, room);
      hits += added.hits;
      found.reads += added.reads;
    }
    hits = __reduce_add_sync(all_lanes, hits);
    found.samples = options.samples;
    found.disagreements = options.samples - hits;
  }
  if (threadIdx.x == 0) out[number] = found;
}

}  // namespace cuda_detail

//! Enqueues the perturbation of each row: how many of options.samples draws are not tokens[row]. Any batch gives the
//! same counts; truncation plays no part. Errors, of the arguments alone: those of `read_rows` and of check(options);
//! null_span (tokens, keys, positions, rounds or `found`).
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
  const std::uint32_t loads = (batch.rows.size + cuda_detail::per_load - 1) / cuda_detail::per_load;
  return cuda_detail::enqueue(how, {batch.rows.count, cuda_detail::threads_for(loads, cuda_detail::tempered_threads)},
                              &cuda_detail::tempered_kernel<Scalar, Key>, batch, tokens, options, random, found);
}

SPECVERIFY_TYPES_END

#endif
