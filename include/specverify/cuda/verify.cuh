// SPDX-License-Identifier: Apache-2.0
//! Verifies a batch of rounds on a GPU, by the token rule or the greedy rule. One call serves all requests of an
//! engine's step, and the rounds may have different lengths.
//!
//! Pass the engine's logits in a `device_rounds` (device/rounds.hpp). No earlier `read_rows` is needed, because the
//! kernels read the rows themselves.
//! Guarantees: verdicts, counters and row states equal the results of token_rule and greedy_rule under exec::seq. The
//!             random numbers of draft i belong to the round's position + i. A row is read once, but the token rule
//!             reads about one row in twenty again. Rows after the first rejection are read only if there are few
//!             rounds (cuda_tuning::split_rounds). No allocation.
//! Deviates:   unlike the verification on the CPU, it returns no log-probabilities.
//! See:        docs/algorithms/cuda.md, examples/cuda/verify_batch.cu, tests/device/verify_test.cpp
#ifndef SPECVERIFY_CUDA_VERIFY_CUH
#define SPECVERIFY_CUDA_VERIFY_CUH

#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/detail/block_draw.cuh>
#include <specverify/device/rounds.hpp>
#include <specverify/verify/detail/progress.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Space for a verdict in shared memory, which must not have a constructor.
struct verdict_room {
  alignas(device_verdict) unsigned char bytes[sizeof(device_verdict)];
  std::uint32_t length, rows, step;

  [[nodiscard]] __device__ __forceinline__ device_verdict& made() noexcept {
    return *reinterpret_cast<device_verdict*>(bytes);
  }
};

//! A round as the thread block sees it. Only the first thread has the verdict.
template <class Scalar>
struct round_at_work {
  const device_rounds<Scalar>& rounds;
  const device_verdicts& out;
  verdict_room& room;
  std::uint32_t number;
  std::uint32_t length, rows, first_row;

  [[nodiscard]] __device__ __forceinline__ verdict& decided() const noexcept { return room.made().decided; }
  [[nodiscard]] __device__ __forceinline__ verdict_counters& counters() const noexcept { return decided().counters; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t draft_at(std::uint32_t index) const noexcept {
    return rounds.draft_begin[number] + index;
  }
  [[nodiscard]] __device__ __forceinline__ bool is_forced(std::uint32_t index) const noexcept {
    return rounds.forced_rejects != nullptr && rounds.forced_rejects[draft_at(index)] != 0;
  }
  [[nodiscard]] __device__ __forceinline__ bool has(token_id token) const noexcept {
    return token >= 0 && static_cast<std::uint32_t>(token) < rounds.rows.size;
  }

  // Only the first thread may call these functions.
  __device__ __forceinline__ void fail(errc code, std::uint32_t index) const noexcept {
    room.made().why = {code, part::verify, index};
  }
  __device__ __forceinline__ void row_read(errc code, std::uint32_t index) const noexcept {
    if (out.row_states != nullptr) out.row_states[first_row + index] = {code, part::verify, index};
    if (code != errc::ok) fail(code, index);
  }
  [[nodiscard]] __device__ __forceinline__ bool accept(token_id token) const noexcept {
    return detail::accept_draft(decided(), rounds.limits(number), token);
  }
  __device__ __forceinline__ void finish(token_id token, token_source source) const noexcept {
    detail::finish_round(decided(), rounds.limits(number), token, source);
  }
};

//! Determines the length of a round, its rows, and its error. Runs on the first thread.
template <class Scalar>
__device__ __forceinline__ void begin_round(const device_rounds<Scalar>& rounds, std::uint32_t number,
                                            verdict_room& room) noexcept {
  device_verdict& made = room.made();
  made = device_verdict{};
  room.length = room.rows = 0;
  const std::uint32_t first = rounds.first_row(number), last = rounds.first_row(number + 1);
  const std::uint32_t begin = rounds.draft_begin[number], end = rounds.draft_begin[number + 1];
  if (first > last || last > rounds.rows.count || begin > end) {
    made.why = {errc::size_mismatch, part::verify, 0};
    return;
  }
  std::uint32_t drafted = 0;
  while (drafted < end - begin && rounds.drafts[begin + drafted].token != no_token) ++drafted;
  made.decided.counters.drafted = drafted;
  const round_limits limits = rounds.limits(number);
  const std::uint32_t length = detail::length_of_round(drafted, limits), rows = detail::rows_of_round(length, limits);
  if (last - first < rows) {
    made.why = {errc::too_few_rows, part::verify, last - first};
    return;
  }
  if (rows == 0) made.decided.stop = stop_reason::budget;
  room.length = length;
  room.rows = rows;
}

//! Opens a round. A round with an error has no rows.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ round_at_work<Scalar> open_round(const device_rounds<Scalar>& rounds,
                                                                          const device_verdicts& out,
                                                                          verdict_room& room) noexcept {
  const std::uint32_t number = blockIdx.x;
  if (threadIdx.x == 0) begin_round(rounds, number, room);
  const std::uint32_t first = rounds.first_row(number), last = rounds.first_row(number + 1);
  for (std::uint32_t row = first + threadIdx.x; out.row_states != nullptr && row < last && last <= rounds.rows.count;
       row += blockDim.x)
    out.row_states[row] = {errc::not_read, part::verify, row - first};
  __syncthreads();
  return {rounds, out, room, number, room.length, room.rows, first};
}

//! Returns the errors of a row's transform that the CPU could not check.
[[nodiscard]] __device__ __forceinline__ errc check_row(const device_transform& transform, std::uint32_t row) noexcept {
  if (!is_temperature(temperature_of(transform, row))) return errc::invalid_temperature;
  const bool cuts = transform.truncations == nullptr || transform.truncations[row].valid();
  return cuts ? errc::ok : errc::invalid_truncation;
}

// ---- The token rule

struct verify_room {
  verdict_room round;
  digest_room digest;
  block_room draws;
};
//! Shared memory if rows may be truncated. A row is digested, then truncated, then drawn from, with barriers between
//! these steps, so the steps can share memory.
struct cut_verify_room {
  verdict_room round;
  union {
    digest_room digest;
    truncate_room cut;
    block_room draws;
  };
};

//! Shared memory of a thread block that needs no digests of its own, because all rows have been read before.
struct walk_room {
  verdict_room round;
  block_room draws;
};

enum draft_answer : std::uint32_t { draft_rejected, draft_stands, draft_ends };

//! Distribution that a draft is tested against, and that a rejection subtracts.
struct tested_draft {
  drafted_token drafted{};
  subtracted_law taken{};
  bool known = true;  // whether a rejected draft can be replaced here

  //! Reads a draft in device memory; null: there is no draft, because the row is for the bonus token.
  __device__ __forceinline__ explicit tested_draft(const device_draft* place) noexcept {
    drafted = {no_token, 1, 1};
    if (place == nullptr) return;
    const device_draft& given = *place;
    drafted = {given.token, given.count, given.resolution};
    if (given.source.vocab_size != 0) {
      drafted.count = given.source.count(given.token);
      drafted.resolution = given.source.resolution;
      taken = {&given.source, no_token, 1.0 / static_cast<double>(given.source.resolution)};
    } else if (given.count == 0) {
      drafted.count = drafted.resolution = 1;
      taken = {nullptr, given.token, 1.0};
    } else {
      known = false;
    }
  }
  [[nodiscard]] __device__ __forceinline__ bool is_valid() const noexcept {
    return drafted.resolution > 0 && drafted.count <= drafted.resolution;
  }
};

//! Data that the rows of a round share. `Reads`: this block reads the rows; otherwise all rows have been read before.
template <class Scalar, class Key, bool Cuts, bool Reads>
struct token_round {
  using room_type = std::conditional_t<!Reads, walk_room, std::conditional_t<Cuts, cut_verify_room, verify_room>>;
  using row_type = tested_row<Scalar, Cuts>;
  round_at_work<Scalar> round;
  device_uniforms<Key> random;
  residual_options options;
  device_digests digests;  // one digest per round, or per row if all rows have been read
  room_type& room;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t digest_at(std::uint32_t index) const noexcept {
    return Reads ? round.number : round.first_row + index;
  }

  [[nodiscard]] __device__ __forceinline__ draw_place<Key> place(purpose use, std::uint32_t index) const noexcept {
    random_counter first = random.at(use).first_of(round.number);
    first.position += index;
    return {random.keys + std::size_t{round.number} * random.key_pitch, first};
  }

  //! Makes the digest of a row. Returns whether it is ok; every thread gets the result.
  [[nodiscard]] __device__ __forceinline__ bool read(const kernel::row_source<Scalar>& source,
                                                     std::uint32_t index) const noexcept {
    const std::uint32_t number = round.first_row + index;
    errc why = check_row(round.rounds.transform, number);
    if (why == errc::ok) {  // uniform across the block
      if constexpr (Reads) {
        why = read_row(source, number);
      } else {
        why = digests.rows[number].why.code;
      }
    }
    if (threadIdx.x == 0) round.row_read(why, index);
    __syncthreads();
    return why == errc::ok;
  }

  //! Reads a row into the round's digest. Every thread gets the result.
  [[nodiscard]] __device__ __forceinline__ errc read_row(const kernel::row_source<Scalar>& source,
                                                         std::uint32_t number) const noexcept {
    const device_transform& transform = round.rounds.transform;
    const device_digest found =
        digest_row<digest_in_flight, false>(source, transform, number, place_of(digests, round.number), room.digest);
    if (threadIdx.x == 0) digests.rows[round.number] = found;
    if constexpr (Cuts)
      if (found.why.ok()) return cut(source, truncation_of(transform, number));
    return found.why.code;
  }

  //! Truncates the row that was just read. Every thread gets the result.
  [[nodiscard]] __device__ __forceinline__ errc cut(const kernel::row_source<Scalar>& source,
                                                    const row_truncation& wanted) const noexcept {
    const device_digest& digest = digests.rows[round.number];
    __syncthreads();
    if (digest.one_hot || !wanted.active()) return errc::ok;  // uniform across the block
    truncate_row(source, wanted, digests, round.number, room.cut);
    __syncthreads();
    return digest.why.code;
  }

  //! Tests draft `index` against the row. Every thread gets the result.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t test(row_type& row, const tested_draft& tested,
                                                              std::uint32_t index) const noexcept {
    const token_id token = tested.drafted.token;
    const bool known_id = round.has(token);
    if (threadIdx.x == 0) ++round.counters().evaluated;
    if (!known_id) return draft_rejected;
    double uniform = 0;
    if (threadIdx.x == 0) uniform = decision_uniform(place(purpose::acceptance, index).at(0));
    const acceptance answer = test_token(row, tested.drafted, uniform, room.draws);
    std::uint32_t step = draft_rejected;
    if (threadIdx.x == 0) {
      if (answer.near_tie) ++round.counters().near_ties;
      if (answer.accepted) step = round.accept(token) ? draft_ends : draft_stands;
    }
    return tell(step, &room.round.step);
  }

  //! Draws the token that ends a round.
  __device__ __forceinline__ void draw(row_type& row, const subtracted_law& taken, purpose use, std::uint32_t index,
                                       token_source source) const noexcept {
    const device_token drawn = draw_from(row, taken, place(use, index), options, room.draws);
    if (threadIdx.x != 0) return;
    if (!drawn.why.ok()) return round.row_read(drawn.why.code, index);
    if (!taken.is_nothing()) {
      round.counters().residual_trials += drawn.trials;
      if (drawn.fallback) ++round.counters().residual_fallbacks;
    }
    round.finish(drawn.token, drawn.fallback ? token_source::residual_fallback : source);
  }

  //! Decides on one row of the round. Returns true if the next row is needed; every thread gets the result.
  [[nodiscard]] __device__ __forceinline__ bool step(std::uint32_t index) const noexcept {
    const bool bonus = index == round.length;
    const device_rounds<Scalar>& rounds = round.rounds;
    const tested_draft tested(bonus ? nullptr : rounds.drafts + round.draft_at(index));
    const bool forced = !bonus && round.is_forced(index);
    if (!tested.is_valid()) {
      if (threadIdx.x == 0) round.fail(errc::invalid_resolution, index);
      return false;
    }
    const kernel::row_source<Scalar> source = open_row(rounds.rows, rounds.transform, round.first_row + index);
    if (!read(source, index)) return false;
    row_type row = open_digest<Cuts>(source, digests, digest_at(index), room.draws);
    if (threadIdx.x == 0 && !bonus && !round.has(tested.drafted.token)) ++round.counters().invalid_tokens;
    std::uint32_t answer = draft_rejected;
    if (forced || bonus) {
      if (threadIdx.x == 0 && forced) ++round.counters().forced_rejects;
      draw(row, {}, bonus ? purpose::bonus_draw : purpose::residual_draw, index,
           bonus ? token_source::bonus : token_source::forced);
    } else {
      answer = test(row, tested, index);
      if (answer == draft_rejected && tested.known)
        draw(row, tested.taken, purpose::residual_draw, index, token_source::residual);
      if (threadIdx.x == 0 && answer == draft_rejected && !tested.known)
        round.decided().outcome = verdict_outcome::deferred;
    }
    if (threadIdx.x == 0 && row.was_read_again()) ++round.counters().exact_normalisers;
    return answer == draft_stands;
  }
};

//! Verifies a round with its block.
template <class Round, class Scalar, class Key>
__device__ __forceinline__ void verify_round(const device_rounds<Scalar>& rounds, const device_uniforms<Key>& random,
                                             const device_token_rule& rule, const device_digests& digests,
                                             const device_verdicts& out, typename Round::room_type& room) noexcept {
  const round_at_work<Scalar> round = open_round(rounds, out, room.round);
  const Round self{round, random, {rule.trial_cap, 1.0}, digests, room};
  for (std::uint32_t index = 0; index < round.rows; ++index)
    if (!self.step(index)) break;
  if (threadIdx.x == 0) out.rounds[round.number] = room.round.made();
}

template <class Scalar, class Key, bool Cuts>
__global__ void __launch_bounds__(digest_threads, 1)
    verify_kernel(device_rounds<Scalar> rounds, device_uniforms<Key> random, device_token_rule rule,
                  device_digests digests, device_verdicts out) {
  using round_type = token_round<Scalar, Key, Cuts, true>;
  __shared__ typename round_type::room_type room;
  verify_round<round_type>(rounds, random, rule, digests, out, room);
}

//! Runs after the digests of all rows.
template <class Scalar, class Key, bool Cuts>
__global__ void __launch_bounds__(test_threads, 1)
    walk_kernel(device_rounds<Scalar> rounds, device_uniforms<Key> random, device_token_rule rule,
                device_digests digests, device_verdicts out) {
  using round_type = token_round<Scalar, Key, Cuts, false>;
  __shared__ typename round_type::room_type room;
  verify_round<round_type>(rounds, random, rule, digests, out, room);
}

//! Returns whether there are so few rounds that all rows are read first. It depends only on sizes.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE bool are_few(const device_rounds<Scalar>& rounds, const cuda_tuning& tuning) noexcept {
  return tuning.split_rounds != 0 && rounds.count <= tuning.multiprocessors / tuning.split_rounds;
}

// ---- The greedy rule

struct greedy_room {
  verdict_room round;
  argmax_room best;
};

//! Decides on one row of a round. Returns true if the next row is needed; every thread gets the result.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ bool greedy_step(const round_at_work<Scalar>& round, std::uint32_t index,
                                                          greedy_room& room) noexcept {
  const device_rounds<Scalar>& rounds = round.rounds;
  const std::uint32_t number = round.first_row + index;
  device_argmax best;
  errc why = check_row(rounds.transform, number);
  if (why == errc::ok) {  // uniform across the block
    best = argmax_of_row(open_row(rounds.rows, rounds.transform, number), room.best);
    why = best.why.code;
  }
  if (threadIdx.x == 0) round.row_read(why, index);
  if (why != errc::ok) return false;
  if (threadIdx.x == 0 && best.near_tie) ++round.counters().near_ties;
  const bool bonus = index == round.length, forced = !bonus && round.is_forced(index);
  if (bonus || forced) {
    if (threadIdx.x == 0 && forced) ++round.counters().forced_rejects;
    if (threadIdx.x == 0) round.finish(best.token, bonus ? token_source::bonus : token_source::forced);
    return false;
  }
  const token_id token = rounds.drafts[round.draft_at(index)].token;
  if (threadIdx.x == 0) {
    ++round.counters().evaluated;
    if (!round.has(token)) ++round.counters().invalid_tokens;
  }
  if (token != best.token) {
    if (threadIdx.x == 0) round.finish(best.token, token_source::residual);
    return false;
  }
  std::uint32_t ends = 0;
  if (threadIdx.x == 0) ends = round.accept(token) ? 1 : 0;
  return __syncthreads_or(static_cast<int>(ends)) == 0;
}

template <class Scalar>
__global__ void __launch_bounds__(most_row_threads, 1)
    greedy_kernel(device_rounds<Scalar> rounds, device_verdicts out) {
  __shared__ greedy_room room;
  const round_at_work<Scalar> round = open_round(rounds, out, room.round);
  for (std::uint32_t index = 0; index < round.rows; ++index)
    if (!greedy_step(round, index, room)) break;
  if (threadIdx.x == 0) out.rounds[round.number] = room.round.made();
}

}  // namespace cuda_detail

//! Returns the workspace size in bytes with which `verify_batch` is fastest on this GPU. Few rounds get memory for one
//! digest per row. A smaller workspace of at least verify_memory_size(rounds) bytes gives the same verdicts, but one
//! block per round then reads the rows. Pure; O(1).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE std::size_t verify_memory_size(exec::cuda how,
                                                               const device_rounds<Scalar>& rounds) noexcept {
  const std::size_t least = verify_memory_size(rounds), all = device_batch_size(rounds.rows, rounds.transform);
  return cuda_detail::are_few(rounds, how.tuning) && all > least ? all : least;
}

//! Enqueues the verification of `rounds` by the token rule. `random` must have one position per round: the position of
//! the round's first draft. `scratch` must be aligned to 64 bytes, and no other work may use it at the same time. It
//! must have verify_memory_size(how, rounds) bytes, or at least verify_memory_size(rounds). With few rounds and enough
//! workspace, all rows.count rows are read first, with their temperatures, masks and biases.
//! Errors of the call: errors of `make_device_batch` for rows, transform and `scratch`; size_mismatch (no rounds),
//! null_span (drafts, offsets, stop tokens, keys, positions, rounds or verdicts); engine_failed. A round's error is in
//! its verdict.
template <class Scalar, class Key>
[[nodiscard]] SPECVERIFY_INLINE status verify_batch(exec::cuda how, const device_token_rule& rule,
                                                    const device_rounds<Scalar>& rounds,
                                                    const device_uniforms<Key>& random, const device_verdicts& out,
                                                    device_memory scratch) noexcept {
  if (const status why = device_detail::check(rounds); !why.ok()) return why;
  if (out.rounds == nullptr || !random.at(purpose::acceptance).has_all()) return {errc::null_span, part::verify, 0};
  const bool reads_first = cuda_detail::are_few(rounds, how.tuning) && scratch.size >= verify_memory_size(how, rounds);
  const auto places =
      make_device_batch(reads_first ? rounds.rows : device_detail::row_a_round(rounds), rounds.transform, scratch);
  if (!places) return places.error();
  auto chosen = rounds.transform.may_truncate() ? &cuda_detail::verify_kernel<Scalar, Key, true>
                                                : &cuda_detail::verify_kernel<Scalar, Key, false>;
  std::uint32_t threads = cuda_detail::test_threads_for(rounds.rows, cuda_detail::most_threads_of(how.tuning));
  if (reads_first) {
    if (const status why = read_rows(how, *places); !why.ok()) return why;
    chosen = rounds.transform.may_truncate() ? &cuda_detail::walk_kernel<Scalar, Key, true>
                                             : &cuda_detail::walk_kernel<Scalar, Key, false>;
    threads = cuda_detail::test_threads_for(rounds.rows);
  }
  return cuda_detail::enqueue(how, {rounds.count, cuda_detail::draw_threads_for(threads)}, chosen, rounds, random, rule,
                              places->digests, out);
}

//! Enqueues the verification of `rounds` by the greedy rule. It needs no random numbers and no workspace. Temperature
//! and truncation have no effect.
//! Errors of the call: errors of `make_device_batch` for rows and transform; size_mismatch (no rounds), null_span
//! (drafts, offsets, stop tokens or verdicts); engine_failed. A round's error is in its verdict.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status verify_batch(exec::cuda how, const device_greedy_rule&,
                                                    const device_rounds<Scalar>& rounds,
                                                    const device_verdicts& out) noexcept {
  if (const status why = device_detail::check(rounds); !why.ok()) return why;
  if (out.rounds == nullptr) return {errc::null_span, part::verify, 0};
  return cuda_detail::enqueue(how,
                              {rounds.count, cuda_detail::threads_for_rows(how.tuning, rounds.rows.size, rounds.count)},
                              &cuda_detail::greedy_kernel<Scalar>, rounds, out);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
