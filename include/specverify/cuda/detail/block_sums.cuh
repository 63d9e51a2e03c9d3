// SPDX-License-Identifier: Apache-2.0
//! Sums exact weights over a row with a thread block, in the order of the CPU. Also contains the exact rule of draws,
//! which uses these sums.
#ifndef SPECVERIFY_CUDA_DETAIL_BLOCK_SUMS_CUH
#define SPECVERIFY_CUDA_DETAIL_BLOCK_SUMS_CUH

#include <specverify/cuda/detail/left_weight.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t test_threads = 512;   // maximum; 16 threads take a term of 256 ids
inline constexpr std::uint32_t staged_terms = 1024;  // terms of 256 ids
inline constexpr std::uint32_t skipped_at_once = 8;  // terms or weights
// trials at a time, one per warp: together they read half a block of logits
inline constexpr std::uint32_t most_trials = 8;

enum trial_answer : std::uint32_t { trial_refused, trial_accepted, trial_open };

//! A trial of a draw. If the bounds leave the trial open, Z decides.
struct made_trial {
  double need, slack, have, share;
  token_id token;
  trial_answer answer;
};

struct block_room {
  double sums[staged_blocks];
  union {
    double entries[test_threads];
    proposal_room proposals[most_trials];  // one element per warp, used during trials
  };
  double terms[staged_terms];  // terms of a whole row if they fit, otherwise of one pass
  double partial[most_warps];
  double told;
  made_trial trials[most_trials];
  std::uint32_t step;
};

//! Broadcasts the first thread's value to every thread. The memory at `place` can be reused immediately.
template <class Word>
[[nodiscard]] __device__ __forceinline__ Word tell(Word mine, Word* place) noexcept {
  __syncthreads();
  if (threadIdx.x == 0) *place = mine;
  __syncthreads();
  return *place;
}

//! Distribution of a truncated row: ids, ascending, and e_v.
struct kept_law {
  const token_id* ids;
  const double* weights;
  std::uint32_t size;

  //! Returns e_v of an id, or 0 if the id is not kept.
  [[nodiscard]] __device__ __forceinline__ double weight(token_id id) const noexcept {
    const std::uint32_t at = numeric::count_below(ids, size, id);
    return at < size && ids[at] == id ? weights[at] : 0.0;
  }
};

//! Returns whether the terms of a whole row fit in shared memory.
[[nodiscard]] __device__ __forceinline__ bool are_staged(std::uint32_t size) noexcept {
  return size <= staged_terms * kernel::exact_size;
}

//! Computes the terms of the ids starting at `first`, 16 ids per thread, and returns their address. A barrier must
//! follow before another warp reads them.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ const double* load_terms(const drawn_row<Scalar>& row,
                                                                  const left_weight& weight, std::uint32_t first,
                                                                  block_room& room) noexcept {
  const std::uint32_t lane = threadIdx.x % kernel::lane_count, term = threadIdx.x / kernel::lane_count;
  double* const place = room.terms + (are_staged(row.source.size) ? first / kernel::exact_size : 0);
  const std::uint32_t begin = first + term * kernel::exact_size;
  const subtracted_part shares =
      weight.taken.within(static_cast<token_id>(begin), static_cast<token_id>(begin + kernel::exact_size));
  const bool stays = weight.staged && shares.is_empty();  // for all threads of a term
  if (!stays) room.entries[threadIdx.x] = weight.sum_from(row, begin + lane, shares);
  __syncwarp();
  if (lane == 0 && !stays && begin < row.source.size) place[term] = kernel::lane_tree(room.entries + threadIdx.x);
  __syncwarp();
  return place;
}

//! Returns the number of the row's terms in a pass that starts at `first`.
[[nodiscard]] __device__ __forceinline__ std::uint32_t terms_from(std::uint32_t first, std::uint32_t size) noexcept {
  const std::uint32_t left = (size - first + kernel::exact_size - 1) / kernel::exact_size;
  const std::uint32_t most = blockDim.x / kernel::lane_count;
  return left < most ? left : most;
}

//! Returns the sum of a row's weights in the order of kernel::exact_sum. Staged terms are added at the end, and other
//! terms after each pass. Every thread gets the sum.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ double sum_of_row(const drawn_row<Scalar>& row, const left_weight& weight,
                                                           block_room& room) noexcept {
  const std::uint32_t size = row.source.size, step = blockDim.x * ids_per_thread;
  const bool staged = are_staged(size);
  double sum = 0;
  for (std::uint32_t first = 0; first < size; first += step) {
    const double* const loaded = load_terms(row, weight, first, room);
    if (staged && size - first > step) continue;
    const double* const placed = staged ? room.terms : loaded;
    const std::uint32_t terms = static_cast<std::uint32_t>(loaded - placed) + terms_from(first, size);
    __syncthreads();
    if (threadIdx.x == 0) {
      SPECVERIFY_UNROLL(8)
      for (std::uint32_t t = 0; t < terms; ++t) sum = __dadd_rn(sum, placed[t]);
    }
    __syncthreads();
  }
  return tell(sum, &room.told);
}

inline constexpr std::uint32_t not_proven = no_id - 1;

//! Adds weights to `sum`, eight at a time, while it is below `bar`. Returns the number of weights added.
[[nodiscard]] __device__ __forceinline__ std::uint32_t skip_below(double& sum, double bar, const double* weights,
                                                                  std::uint32_t count) noexcept {
  std::uint32_t skipped = 0;
  for (; skipped + skipped_at_once <= count; skipped += skipped_at_once) {
    double next = sum;
    SPECVERIFY_UNROLL(8)
    for (std::uint32_t k = 0; k < skipped_at_once; ++k) next = __dadd_rn(next, weights[skipped + k]);
    if (!(next < bar)) break;
    sum = next;
  }
  return skipped;
}

//! Returns the id of the term where the running sum exceeds `target` by more than the slack, or no_id if no sum does.
//! If an earlier sum is closer to `target` than the slack, returns not_proven. Runs on the first thread, on
//! room.entries.
[[nodiscard]] __device__ __forceinline__ std::uint32_t scan_term(double& sum, double target, double slack,
                                                                 std::uint32_t first, std::uint32_t count,
                                                                 const block_room& room) noexcept {
  std::uint32_t i = skip_below(sum, target - slack, room.entries, count);
  for (; i < count; ++i) {
    sum = __dadd_rn(sum, room.entries[i]);
    if (sum > target + slack) return first + i;
    if (sum > target - slack) return not_proven;
  }
  return no_id;
}

//! Returns the id where the running sum exceeds `target`, if it does so by more than the slack, otherwise no_token. The
//! id equals the result of `walk_row`. Uses the staged terms of `sum_of_row`. Every thread gets the result.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ token_id find_in_row(const drawn_row<Scalar>& row, const left_weight& weight,
                                                              double target, double slack, block_room& room) noexcept {
  const std::uint32_t size = row.source.size;
  double sum = 0;  // in the first thread
  for (std::uint32_t first = 0; first < size; first += blockDim.x * ids_per_thread) {
    const double* const placed =
        are_staged(size) ? room.terms + first / kernel::exact_size : load_terms(row, weight, first, room);
    __syncthreads();
    const std::uint32_t terms = terms_from(first, size);
    for (std::uint32_t t = 0;; ++t) {
      if (threadIdx.x == 0) {
        t += skip_below(sum, target - slack, placed + t, terms - t);
        while (t < terms && sum + placed[t] < target - slack) sum = __dadd_rn(sum, placed[t++]);
      }
      t = tell(t, &room.step);
      if (t >= terms) break;
      const std::uint32_t begin = first + t * kernel::exact_size;
      for (std::uint32_t i = threadIdx.x; i < kernel::exact_size; i += blockDim.x)
        room.entries[i] = weight(row, begin + i);
      __syncthreads();
      const std::uint32_t count = size - begin < kernel::exact_size ? size - begin : kernel::exact_size;
      std::uint32_t found = no_id;
      if (threadIdx.x == 0) found = scan_term(sum, target, slack, begin, count, room);
      found = tell(found, &room.step);
      if (found != no_id) return found == not_proven ? no_token : static_cast<token_id>(found);
    }
  }
  return no_token;
}

//! Sums `size` weights, weight_at(i), serially and returns the index where the sum exceeds `target`. If it never does,
//! returns the last index of positive weight, or no_id if there is none. `sum` is correct only in the first thread.
template <class WeightAt>
[[nodiscard]] __device__ __forceinline__ std::uint32_t walk_weights(std::uint32_t size, const WeightAt& weight_at,
                                                                    double target, double& sum,
                                                                    block_room& room) noexcept {
  std::uint32_t last = no_id;
  sum = 0;
  for (std::uint32_t first = 0; first < size; first += blockDim.x) {
    room.entries[threadIdx.x] = weight_at(first + threadIdx.x);
    __syncthreads();
    bool over = false;
    for (std::uint32_t i = 0; threadIdx.x == 0 && i < blockDim.x && !over; ++i) {
      if (!(room.entries[i] > 0.0)) continue;
      last = first + i;
      sum = __dadd_rn(sum, room.entries[i]);
      over = sum > target;
    }
    if (__syncthreads_or(over ? 1 : 0) != 0) break;
  }
  return tell(last, &room.step);
}

//! Like `walk_weights`, for the weights of a row. Returns the id.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ token_id walk_row(const drawn_row<Scalar>& row, const left_weight& weight,
                                                           double target, double& sum, block_room& room) noexcept {
  const auto weight_at = [&](std::uint32_t id) { return weight(row, id); };
  return static_cast<token_id>(walk_weights(row.source.size, weight_at, target, sum, room));
}
//! Like `walk_weights`, for the weights of a truncated row. Returns the id.
[[nodiscard]] __device__ __forceinline__ token_id walk_kept(const kept_law& kept, const left_weight& weight,
                                                            double target, double& sum, block_room& room) noexcept {
  const auto weight_at = [&](std::uint32_t i) {
    return i < kept.size ? weight.of(static_cast<std::uint32_t>(kept.ids[i]), kept.weights[i], weight.taken) : 0.0;
  };
  const std::uint32_t found = walk_weights(kept.size, weight_at, target, sum, room);
  return found == no_id ? no_token : kept.ids[found];
}

//! The exact rule: returns the least id whose running sum of weights exceeds uniform * total. If a residual has no
//! mass, it draws from p and sets `fallback`. Every thread gets the result.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ token_id draw_exactly(const drawn_row<Scalar>& row, left_weight weight,
                                                               double uniform, bool& fallback,
                                                               block_room& room) noexcept {
  for (;;) {
    const bool whole = weight.taken.is_nothing();
    const double mass = sum_of_row(row, weight, room), total = whole ? mass : weight.total;
    const double slack = __dadd_rn(numeric::product(static_cast<double>(row.source.size) * 0x1.0p-51, mass),
                                   numeric::product(0x1.0p-46, total));
    const double least = numeric::product(residual_mass_floor, total);
    token_id token = no_token;
    if (whole || (kernel::is_finite(mass) && mass > least + slack))
      token = find_in_row(row, weight, numeric::product(uniform, mass), slack, room);
    if (token != no_token) return token;
    double serial = 0;
    (void)walk_row(row, weight, 1.0e300, serial, room);
    serial = tell(serial, &room.told);
    if (whole || (kernel::is_finite(serial) && serial >= least))
      return walk_row(row, weight, numeric::product(uniform, serial), serial, room);
    fallback = true;
    weight = left_weight{};
  }
}

//! The exact rule of a truncated row, whose Z is `total`. Every thread gets the result.
[[nodiscard]] __device__ __forceinline__ token_id draw_kept(const kept_law& kept, const left_weight& weight,
                                                            double uniform, double total, bool& fallback,
                                                            block_room& room) noexcept {
  double sum = 0;
  if (!weight.taken.is_nothing()) {
    (void)walk_kept(kept, weight, 1.0e300, sum, room);
    const double mass = tell(sum, &room.told);
    if (kernel::is_finite(mass) && mass >= numeric::product(residual_mass_floor, total))
      return walk_kept(kept, weight, numeric::product(uniform, mass), sum, room);
    fallback = true;
  }
  return walk_kept(kept, left_weight{}, numeric::product(uniform, total), sum, room);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
