// SPDX-License-Identifier: Apache-2.0
//! Tests a token against a row, or draws from the residual, with one thread block. The decisions equal the CPU's.
//!
//! Numbers that only the first thread computes are broadcast, because all threads must take the same branch.
#ifndef SPECVERIFY_CUDA_DETAIL_BLOCK_DRAW_CUH
#define SPECVERIFY_CUDA_DETAIL_BLOCK_DRAW_CUH

#include <specverify/cuda/detail/block_sums.cuh>
#include <specverify/cuda/detail/quick_sum.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/row/acceptance.hpp>
#include <specverify/row/residual.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! A row for a thread block to test tokens and draw from. `Cuts`: rows may be truncated; kernels for other batches omit
//! the code for truncated rows.
template <class Scalar, bool Cuts>
struct tested_row {
  drawn_row<Scalar> drawn;
  double lower, upper;  // bounds on Z
  double normaliser;    // Z, or 0 if unknown
  token_id argmax;
  bool one_hot;
  bool truncated;
  bool narrow;  // whether the bounds come from a quick sum
  bool summed;  // whether Z has been summed
  kept_law kept;

  [[nodiscard]] __device__ __forceinline__ bool is_truncated() const noexcept { return Cuts && truncated; }
  //! Returns whether the row was read again for Z or for narrower bounds on Z.
  [[nodiscard]] __device__ __forceinline__ bool was_read_again() const noexcept { return narrow || summed; }
  [[nodiscard]] __device__ __forceinline__ double weight(token_id id) const noexcept {
    if (one_hot) return id == argmax ? 1.0 : 0.0;
    if (is_truncated()) return kept.weight(id);
    return drawn.weight(static_cast<std::uint32_t>(id));
  }
};

//! Opens a row. All threads must be able to read the digest at `number`.
template <bool Cuts, class Scalar>
[[nodiscard]] __device__ __forceinline__ tested_row<Scalar, Cuts> open_digest(const kernel::row_source<Scalar>& source,
                                                                              const device_digests& digests,
                                                                              std::uint32_t number,
                                                                              block_room& room) noexcept {
  const device_digest& digest = digests.rows[number];
  const digest_place place = place_of(digests, number);
  const std::size_t first_kept = std::size_t{number} * digests.kept_capacity;
  const bool is_staged = place.blocks <= staged_blocks;
  for (std::uint32_t b = threadIdx.x; is_staged && !digest.one_hot && b < place.blocks; b += blockDim.x)
    room.sums[b] = place.block_sums[b];
  __syncthreads();
  const double inverse = digest.one_hot ? 1.0 : 1.0 / digest.temperature;
  return {{source,
           envelope_of(digest.reference, digest.temperature),
           {static_cast<double>(digest.reference), inverse, false},
           is_staged ? room.sums : place.block_sums,
           place.lane_sums,
           place.blocks,
           digest.coarse_total},
          digest.lower,
          digest.upper,
          digest.one_hot ? 1.0 : digest.normaliser,
          digest.argmax,
          digest.one_hot,
          digest.truncated,
          false,
          false,
          {digests.kept_ids + first_kept, digests.kept_weights + first_kept, digest.kept}};
}

//! Narrows the bounds on Z to a relative error of kernel::quick_error, with one more read in float. Does nothing if Z
//! is known or the bounds are already that narrow.
template <class Scalar, bool Cuts>
__device__ __forceinline__ void narrow_bounds(tested_row<Scalar, Cuts>& row, block_room& room) noexcept {
  if (row.normaliser > 0.0 || row.narrow) return;  // uniform across the block
  const kernel::exact_weight& exact = row.drawn.exact;
  const float scales[] = {octaves_a_nat(1.0 / exact.inverse_temperature)};
  double sums[1];
  sum_powers(row.drawn.source, static_cast<float>(exact.reference), scales, sums);
  const double total = real_sum_of_block(sums[0], room.partial);
  row.lower = total * (1.0 - kernel::quick_error);
  row.upper = total * (1.0 + kernel::quick_error);
  row.narrow = true;
}

//! Returns Z. If Z is unknown, this takes one more read of the row.
template <class Scalar, bool Cuts>
[[nodiscard]] __device__ __forceinline__ double normaliser_of(tested_row<Scalar, Cuts>& row,
                                                              block_room& room) noexcept {
  if (!(row.normaliser > 0.0)) {
    row.normaliser = sum_of_row(row.drawn, left_weight{}, room);
    row.summed = true;
  }
  return row.normaliser;
}

//! The numbers in a token's accept test, u * full * Z < have. Only the first thread uses them.
struct asked_test {
  double have = 0, full = 0, drawn = 0;

  //! Decides by the bounds on Z. Returns true if they leave the test open.
  template <class Scalar, bool Cuts>
  [[nodiscard]] __device__ __forceinline__ bool decide(const tested_row<Scalar, Cuts>& row,
                                                       acceptance& tested) const noexcept {
    const detail::bound_decision decision = detail::decide(drawn, full, have, row.lower, row.upper);
    tested.accepted = decision == detail::bound_decision::accepted;
    return decision == detail::bound_decision::open;
  }
};

//! Accept test of a token of the row. Only the first thread uses `drafted` and `uniform`, and only it gets the result.
template <class Scalar, bool Cuts>
[[nodiscard]] __device__ __forceinline__ acceptance test_token(tested_row<Scalar, Cuts>& row,
                                                               const drafted_token& drafted, double uniform,
                                                               block_room& room) noexcept {
  const bool was_known = row.normaliser > 0.0, leads = threadIdx.x == 0;
  acceptance tested;
  asked_test asked;
  bool is_open = false;
  if (leads) {
    const double weight = row.weight(drafted.token);
    tested.accepted = weight > 0.0;
    if (tested.accepted && drafted.count != 0) {
      asked.have = numeric::product(static_cast<double>(drafted.resolution), weight);
      asked.full = static_cast<double>(drafted.count);
      asked.drawn = uniform * asked.full;
      is_open = was_known || asked.decide(row, tested);
    }
  }
  if (__syncthreads_or(is_open ? 1 : 0) == 0) return tested;
  if (leads) tested.exact = !was_known;
  if (!was_known) {
    narrow_bounds(row, room);
    if (leads) is_open = asked.decide(row, tested);
    if (__syncthreads_or(is_open ? 1 : 0) == 0) return tested;
  }
  const double total = normaliser_of(row, room);
  if (leads) {
    tested = detail::decide_exactly(asked.drawn, asked.full, asked.have, total);
    tested.exact = !was_known;
  }
  return tested;
}

//! Returns the number of threads: one per 16 ids, as for a sum of exact weights, but at most `most`.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t test_threads_for(const device_rows<Scalar>& rows,
                                                               std::uint32_t most = test_threads) noexcept {
  return threads_for((rows.size + ids_per_thread - 1) / ids_per_thread, most);
}
//! Returns the number of threads for a kernel that also draws: at least four warps, so that short rows have as many
//! trials at once.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t draw_threads_for(std::uint32_t wanted) noexcept {
  return wanted < 4 * lanes_per_warp ? 4 * lanes_per_warp : wanted;
}

//! Source of a draw's random numbers: trial t uses the counter `first` with its lane increased by t.
template <class Key>
struct draw_place {
  const Key* key;
  random_counter first;

  [[nodiscard]] __device__ __forceinline__ random_block at(std::uint32_t trial) const noexcept {
    random_counter counter = first;
    counter.lane += trial;
    return random_at(*key, counter);
  }
};

//! Makes a trial of a draw from (scale * p - q)+, on a warp. The first lane gets the result.
template <class Scalar, bool Cuts>
[[nodiscard]] __device__ __forceinline__ made_trial make_trial(const tested_row<Scalar, Cuts>& row,
                                                               const subtracted_law& taken, double scale,
                                                               const random_block& numbers,
                                                               proposal_room& room) noexcept {
  const row_proposal tried = propose(row.drawn, numbers, room);
  made_trial made{0, 0, 0, 0, no_token, trial_refused};
  if (lane_of_thread() != 0 || tried.id == no_id) return made;
  made.token = static_cast<token_id>(tried.id);
  made.have = numeric::product(scale, row.drawn.weight(tried.id));
  made.share = taken.share(made.token);
  made.need = decision_uniform(numbers, 1) * tried.envelope;
  made.slack = kernel::envelope_slack * tried.correction;
  detail::bound_decision decision =
      made.need < made.slack * made.have ? detail::bound_decision::accepted : detail::bound_decision::rejected;
  if (made.share > 0.0)
    decision = detail::decide_rest(made.need, made.slack, made.have, made.share, row.lower, row.upper);
  if (decision == detail::bound_decision::accepted) made.answer = trial_accepted;
  if (decision == detail::bound_decision::open) made.answer = trial_open;
  return made;
}

//! Returns whether a trial that the digest's bounds left open is accepted. Every thread gets the result.
template <class Scalar, bool Cuts>
[[nodiscard]] __device__ __forceinline__ bool stands(tested_row<Scalar, Cuts>& row, const made_trial& tried,
                                                     block_room& room) noexcept {
  narrow_bounds(row, room);
  if (!(row.normaliser > 0.0)) {
    const detail::bound_decision decision =
        detail::decide_rest(tried.need, tried.slack, tried.have, tried.share, row.lower, row.upper);
    if (decision != detail::bound_decision::open) return decision == detail::bound_decision::accepted;
  }
  return tried.need < tried.slack * kernel::left_of(tried.have, tried.share, normaliser_of(row, room));
}

//! Draws a token by trials, one per warp and several at once. The first accepted trial counts, as in serial order.
//! Draws from p make one trial at a time, because the first one is usually accepted. Every thread gets whether a trial
//! is accepted.
template <class Scalar, bool Cuts, class Key>
[[nodiscard]] __device__ __forceinline__ bool draw_by_trials(tested_row<Scalar, Cuts>& row, const subtracted_law& taken,
                                                             const draw_place<Key>& random,
                                                             const residual_options& options, device_token& drawn,
                                                             block_room& room) noexcept {
  const std::uint32_t warp = warp_of_thread();
  const std::uint32_t warps = warps_of_block() < most_trials ? warps_of_block() : most_trials;
  const std::uint32_t at_once = taken.is_nothing() ? 1 : warps;
  for (std::uint32_t first = 0; first < options.trial_cap;) {
    const std::uint32_t left = options.trial_cap - first, count = left < at_once ? left : at_once;
    if (warp < count) {
      const made_trial mine = make_trial(row, taken, options.scale, random.at(first + warp), room.proposals[warp]);
      if (lane_of_thread() == 0) room.trials[warp] = mine;
    }
    __syncthreads();
    for (std::uint32_t i = 0; i < count; ++i) {  // uniform across the block
      const made_trial& tried = room.trials[i];
      if (tried.answer == trial_refused) continue;
      if (tried.answer == trial_open && !stands(row, tried, room)) continue;
      drawn.token = tried.token;
      drawn.trials = first + i + 1;
      return true;
    }
    __syncthreads();  // the trials may be overwritten from here on
    first += count;
  }
  return false;
}

//! Draws a token from norm((scale * p - q)+) with q = `taken`, or from p if nothing is subtracted. Makes
//! options.trial_cap trials, then uses the exact rule; a truncated row uses only the exact rule. The first thread gets
//! the token.
template <class Scalar, bool Cuts, class Key>
[[nodiscard]] __device__ __forceinline__ device_token draw_from(tested_row<Scalar, Cuts>& row,
                                                                const subtracted_law& taken,
                                                                const draw_place<Key>& random, residual_options options,
                                                                block_room& room) noexcept {
  device_token drawn;
  if (row.one_hot) {
    drawn.token = row.argmax;
    const double share = taken.share(row.argmax);
    drawn.fallback = !taken.is_nothing() && !(options.scale - share >= residual_mass_floor);
    return drawn;
  }
  if (row.is_truncated()) options.trial_cap = 0;
  if (draw_by_trials(row, taken, random, options, drawn, room)) return drawn;
  const double total = taken.is_nothing() && !row.is_truncated() ? 0.0 : normaliser_of(row, room);
  const double uniform = decision_uniform(random.at(options.trial_cap));
  drawn.trials = options.trial_cap;
  drawn.exact = true;
  const bool staged = row.summed && options.scale == 1.0 && are_staged(row.drawn.source.size);
  const left_weight left{taken, options.scale, total, staged};
  drawn.token = row.is_truncated() ? draw_kept(row.kept, left, uniform, total, drawn.fallback, room)
                                   : draw_exactly(row.drawn, left, uniform, drawn.fallback, room);
  if (drawn.token == no_token)
    drawn.why = {taken.is_nothing() ? errc::row_is_empty : errc::residual_unavailable, part::row, 0};
  return drawn;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
