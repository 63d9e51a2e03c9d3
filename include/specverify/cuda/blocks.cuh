// SPDX-License-Identifier: Apache-2.0
//! Draws tokens on a GPU with the help of block maxima and block sums from the engine. A draw then usually reads one or
//! two blocks of ids instead of the whole row.
//!
//! Use it if the LM head's epilogue writes two numbers for every block of 64 to 1024 neighbouring ids: the largest
//! logit, and the sum of e^((z - maximum) / T) over the block's logits z at temperature T. The numbers are the engine's
//! claims. Call `read_rows_from_blocks`, then `sample` with the same claims.
//! Guarantees: digests, tokens and errors equal the results of row/blocks.hpp on the CPU, except at near ties. The
//!             digest and each trial of a draw read one block. After `trial_cap` rejected trials a draw reads the row
//!             twice. No allocation.
//! Trust:      claims about blocks that are not read cannot be checked (row/blocks.hpp).
//! See:        docs/algorithms/cuda.md, docs/algorithms/blocks.md, tests/device/blocks_test.cpp
#ifndef SPECVERIFY_CUDA_BLOCKS_CUH
#define SPECVERIFY_CUDA_BLOCKS_CUH

#include <specverify/cuda/sample.cuh>
#include <specverify/row/detail/claims.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! An engine's claims about the rows of a batch, in device memory. Row r begins at r * pitch.
struct device_row_blocks {
  std::uint32_t block_size = 1024;  //!< ids per block, 64 .. 1024, a multiple of 64; the last block may be shorter
  const float* maxima = nullptr;    //!< exact largest logit after bias and mask; -infinity: no id is allowed
  const float* sums = nullptr;      //!< sums of e^((z - maximum) / T); ignored if the maximum is -infinity
  double* shares = nullptr;         //!< workspace of the size of `sums`; `read_rows_from_blocks` fills it for draws
  std::size_t pitch = 0;            //!< claims between the beginnings of two rows; at least the blocks of a row
  double error = 0x1.0p-10;         //!< maximum relative error of a sum, [0, 1/2]

  //! Returns the number of blocks in a row.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t count(std::uint32_t vocab_size) const noexcept {
    return kernel::block_count(vocab_size, block_size);
  }
};

namespace cuda_detail {

inline constexpr std::uint32_t claim_threads = 256;  // maximum

//! One block of a row in shared memory, with lane sums.
struct read_block_room {
  float values[kernel::block_size];
  float lanes[kernel::lane_count];
};

struct claims_room {
  best_entry best[most_warps];
  read_block_room block;
  double shares[claim_threads];
  std::uint32_t least;
  std::uint32_t argmax;
  std::uint32_t nan;
  float maximum;
};

struct pick_room {
  sample_room draw;
  proposal_room proposal;
  read_block_room block;
};

//! The largest logit and the first NaN of a block. Ids count from the block's first id.
struct block_found {
  best_entry best;
  std::uint32_t nan;  // the least id that is NaN; no_id: none
};

//! Returns the number of ids that a warp reads for a block: its size, rounded up to whole groups.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint32_t read_size(const kernel::row_source<Scalar>& row,
                                                                 std::uint32_t first,
                                                                 std::uint32_t block_size) noexcept {
  const std::uint32_t left = row.size - first;
  return kernel::block_groups(left < block_size ? left : block_size, 64);
}

//! Loads a block into shared memory and sums weight(logit) over each lane, like the coarse pass on the CPU. Runs on a
//! warp; every lane gets the result.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ block_found read_block(const kernel::row_source<Scalar>& row,
                                                                std::uint32_t first, std::uint32_t size,
                                                                const kernel::envelope<float>& weight,
                                                                read_block_room& room) noexcept {
  const std::uint32_t lane = lane_of_thread();
  const bool aligned = is_aligned(row.data);
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(first + lane * per_load);
  for (std::uint32_t i = lane * per_load; i < size; i += lanes_per_warp * per_load) {
    const four_logits four = load_four(row, aligned, first + i, bias);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t k = 0; k < per_load; ++k) room.values[i + k] = four.at[k];
  }
  __syncwarp();
  block_found mine{{kernel::negative_infinity<float>(), 0}, no_id};
  if (lane < kernel::lane_count) {
    float sum = 0;
    for (std::uint32_t i = lane; i < size; i += kernel::lane_count) {
      const float value = room.values[i];
      if (kernel::is_nan(value)) {
        if (mine.nan == no_id) mine.nan = i;
        continue;
      }
      if (value > mine.best.value) mine.best = {value, i};
      sum = __fadd_rn(sum, weight(value));
    }
    room.lanes[lane] = sum;
  }
  __syncwarp();
  return {best_of_warp(mine.best), __reduce_min_sync(all_lanes, mine.nan)};
}

//! Checks that a block has the claimed maximum and no NaN.
[[nodiscard]] __device__ __forceinline__ status compare(const block_found& found, float claimed,
                                                        std::uint32_t first) noexcept {
  if (found.nan != no_id) return {errc::row_has_nan, part::row, first + found.nan};
  const bool same = !(found.best.value < claimed) && !(found.best.value > claimed);
  return same ? status{} : status{errc::blocks_disagree, part::row, first};
}

//! Claims about one row.
struct row_claims {
  const float* maxima;
  const float* sums;
  double* shares;
  std::uint32_t count, block_size, vocab_size;
  double error;

  __device__ __forceinline__ row_claims(const device_row_blocks& all, std::uint32_t row, std::uint32_t size) noexcept
      : maxima(all.maxima + row * all.pitch),
        sums(all.sums + row * all.pitch),
        shares(all.shares + row * all.pitch),
        count(all.count(size)),
        block_size(all.block_size),
        vocab_size(size),
        error(all.error) {}
  [[nodiscard]] __device__ __forceinline__ status check(std::uint32_t block) const noexcept {
    const std::uint32_t first = block * block_size, left = vocab_size - first;
    return detail::check_claim(maxima[block], sums[block], left < block_size ? left : block_size, error, first);
  }
};

//! Checks the claims without reading the row, and finds the first block that claims the largest maximum. Runs on a
//! thread block.
[[nodiscard]] __device__ __forceinline__ status find_largest(const row_claims& claims, claims_room& room,
                                                             best_entry& largest) noexcept {
  best_entry best{kernel::negative_infinity<float>(), no_id};
  std::uint32_t wrong = no_id;
  for (std::uint32_t b = threadIdx.x; b < claims.count; b += blockDim.x) {
    if (wrong == no_id && !claims.check(b).ok()) wrong = b;
    if (claims.maxima[b] > best.value) best = {claims.maxima[b], b};
  }
  wrong = least_of_block(wrong, &room.least);
  largest = best_of_block(best, room.best);
  if (wrong != no_id) return claims.check(wrong);
  return kernel::is_finite(largest.value) ? status{} : status{errc::row_is_empty, part::row, 0};
}

//! Computes every share, and the serial sum of shares. The first thread gets the sum.
[[nodiscard]] __device__ __forceinline__ double sum_shares(const row_claims& claims, const kernel::exact_weight& weight,
                                                           claims_room& room) noexcept {
  double total = 0;
  for (std::uint32_t first = 0; first < claims.count; first += blockDim.x) {
    const std::uint32_t b = first + threadIdx.x;
    double share = 0;
    if (b < claims.count) {
      const float maximum = claims.maxima[b];
      if (!kernel::is_negative_infinity(maximum)) share = weight(static_cast<double>(maximum));
      if (share > 0.0) share = __dmul_rn(share, static_cast<double>(claims.sums[b]));
      claims.shares[b] = share;
    }
    room.shares[threadIdx.x] = share;
    __syncthreads();
    if (threadIdx.x == 0)
      for (std::uint32_t i = 0; i < blockDim.x; ++i) total = __dadd_rn(total, room.shares[i]);
    __syncthreads();
  }
  return total;
}

template <class Scalar>
__global__ void __launch_bounds__(claim_threads) claims_kernel(device_batch<Scalar> batch, device_row_blocks all) {
  __shared__ claims_room room;
  const std::uint32_t number = blockIdx.x;
  const row_claims claims(all, number, batch.rows.size);
  device_digest digest;
  digest.made_by = digest_source::claims;
  digest.temperature = temperature_of(batch.transform, number);
  if (!is_temperature(digest.temperature)) digest.why = {errc::invalid_temperature, part::row, 0};
  best_entry largest{0, 0};
  if (digest.why.ok()) digest.why = find_largest(claims, room, largest);  // uniform across the block
  if (digest.why.ok()) {
    const kernel::row_source<Scalar> row = open_row(batch.rows, batch.transform, number);
    const std::uint32_t first = largest.id * claims.block_size;
    if (warp_of_thread() == 0) {
      const kernel::envelope<float> any{largest.value, 1.0f, false};
      const block_found found = read_block(row, first, read_size(row, first, claims.block_size), any, room.block);
      if (lane_of_thread() == 0) room.argmax = first + found.best.id;
      if (lane_of_thread() == 0) room.nan = found.nan;
      if (lane_of_thread() == 0) room.maximum = found.best.value;
    }
    __syncthreads();
    digest.why = compare({{room.maximum, 0}, room.nan}, largest.value, first);
  }
  if (digest.why.ok()) {
    digest.argmax = static_cast<token_id>(room.argmax);
    digest.maximum = digest.reference = largest.value;
    digest.one_hot = is_greedy(digest.temperature);
    digest.coarse_total = digest.lower = digest.upper = 1;
  }
  if (digest.why.ok() && !digest.one_hot) {
    const kernel::exact_weight weight{static_cast<double>(largest.value), 1.0 / digest.temperature, false};
    digest.coarse_total = sum_shares(claims, weight, room);
    digest.lower = detail::claimed_lower(digest.coarse_total, claims.error);
    digest.upper = detail::claimed_upper(digest.coarse_total, claims.error);
  }
  if (threadIdx.x == 0) batch.digests.rows[number] = digest;
}

//! Result of a trial: no_token if the proposal is rejected.
struct claimed_trial {
  token_id token;
  status why;
};

//! Makes one trial. Runs on a warp; every lane gets the result.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ claimed_trial try_claimed(const drawn_row<Scalar>& row,
                                                                   const row_claims& claims,
                                                                   const device_digest& digest,
                                                                   const random_block& random,
                                                                   pick_room& room) noexcept {
  const bool leads = lane_of_thread() == 0;
  double position = numeric::product(decision_uniform(random, 0), row.total);
  std::uint32_t block = claims.count;
  if (leads) block = static_cast<std::uint32_t>(kernel::locate(row.block_sums, claims.count, position));
  block = __shfl_sync(all_lanes, block, 0);
  if (block == claims.count) return {no_token, {}};
  const std::uint32_t first = block * claims.block_size, size = read_size(row.source, first, claims.block_size);
  const float maximum = claims.maxima[block];
  const block_found found = read_block(row.source, first, size, {maximum, row.envelope.scale, false}, room.block);
  if (const status why = compare(found, maximum, first); !why.ok()) return {no_token, why};
  token_id token = no_token;
  int disagrees = 0;
  if (leads) {
    const detail::claimed_law law{static_cast<double>(digest.reference), digest.temperature, digest.lower, digest.upper,
                                  row.source.size};
    const detail::read_block read{
        room.block.values, size, first, maximum, room.block.lanes, kernel::lane_tree(room.block.lanes)};
    const detail::proposal tried =
        detail::propose_in_block(law, read, row.block_sums[block], position, room.proposal.entries);
    disagrees = tried.why.ok() ? 0 : 1;
    if (tried.token != no_token &&
        decision_uniform(random, 1) * tried.envelope <
            kernel::envelope_slack * tried.correction * row.weight(static_cast<std::uint32_t>(tried.token)))
      token = tried.token;
  }
  __syncwarp();  // the workspace may be overwritten from here on
  if (__shfl_sync(all_lanes, disagrees, 0) != 0) return {no_token, {errc::blocks_disagree, part::row, first}};
  return {__shfl_sync(all_lanes, token, 0), {}};
}

template <class Scalar, class Key>
__global__ void __launch_bounds__(lanes_per_warp)
    pick_kernel(device_batch<Scalar> batch, device_row_blocks all, device_stream<Key> random, device_draw options,
                device_token* out) {
  __shared__ pick_room room;
  const std::uint32_t number = blockIdx.x;
  const device_digest& digest = batch.digests.rows[number];
  device_token drawn;
  if (digest.made_by != digest_source::claims) drawn.why = {errc::digest_insufficient, part::row, 0};
  if (!digest.why.ok()) drawn.why = digest.why;
  if (drawn.why.ok() && digest.one_hot) drawn.token = digest.argmax;
  if (drawn.why.ok() && !digest.one_hot) {
    const row_claims claims(all, number, batch.rows.size);
    const bool is_staged = claims.count <= staged_blocks;
    for (std::uint32_t b = lane_of_thread(); is_staged && b < claims.count; b += lanes_per_warp)
      room.draw.sums[b] = claims.shares[b];
    __syncwarp();
    drawn_row<Scalar> row{};
    row.source = open_row(batch.rows, batch.transform, number);
    row.envelope = {digest.reference, kernel::coarse_scale(digest.temperature), false};
    row.exact = {static_cast<double>(digest.reference), 1.0 / digest.temperature, false};
    row.block_sums = is_staged ? room.draw.sums : claims.shares;
    row.total = digest.coarse_total;
    random_counter counter = random.first_of(number);
    while (drawn.trials < options.trial_cap && drawn.token == no_token && drawn.why.ok()) {
      const claimed_trial tried = try_claimed(row, claims, digest, random.at(number, counter), room);
      drawn.token = tried.token;
      drawn.why = tried.why;
      ++drawn.trials;
      ++counter.lane;
    }
    if (drawn.token == no_token && drawn.why.ok()) {
      drawn.exact = true;
      drawn.token = exact_token(row, decision_uniform(random.at(number, counter)), room.draw);
    }
  }
  if (lane_of_thread() == 0) out[number] = drawn;
}

template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check(const device_batch<Scalar>& batch,
                                             const device_row_blocks& claims) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (batch.transform.may_truncate()) return refusal(errc::unsupported);
  if (!detail::fits_blocks(claims.block_size) || !detail::fits_error(claims.error))
    return refusal(errc::invalid_argument);
  if (claims.maxima == nullptr || claims.sums == nullptr || claims.shares == nullptr) return refusal(errc::null_span);
  return claims.pitch < claims.count(batch.rows.size) ? refusal(errc::size_mismatch) : status{};
}

}  // namespace cuda_detail

//! Enqueues digests of a batch's rows from the engine's claims. Use them only in functions that take the same claims;
//! other functions return digest_insufficient, because these digests have no block sums.
//! Errors of the call: as for `read_rows`; unsupported (truncation), invalid_argument (block size, error), null_span,
//! size_mismatch (pitch).
//! Errors of a row, in its digest: row_has_nan, row_has_positive_infinity, blocks_disagree (`where` = an id, or the
//! first id of a block), row_is_empty, invalid_temperature.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status read_rows_from_blocks(exec::cuda how, const device_batch<Scalar>& batch,
                                                             const device_row_blocks& claims) noexcept {
  if (const status why = cuda_detail::check(batch, claims); !why.ok()) return why;
  const std::uint32_t threads = cuda_detail::threads_for(claims.count(batch.rows.size), cuda_detail::claim_threads);
  return cuda_detail::enqueue(how, {batch.rows.count, threads}, &cuda_detail::claims_kernel<Scalar>, batch, claims);
}

//! Enqueues one draw per row into `tokens`, on digests that `read_rows_from_blocks` made from the same claims. The
//! tokens have the same distribution as without claims, but may be different tokens.
//! Errors of the call: as for `read_rows_from_blocks`; null_span (keys, positions, rounds or tokens).
//! Errors of a row: the digest's error, digest_insufficient (a digest of `read_rows`), blocks_disagree, row_has_nan.
template <class Scalar, class Key>
[[nodiscard]] SPECVERIFY_INLINE status sample(exec::cuda how, const device_batch<Scalar>& batch,
                                              const device_row_blocks& claims, const device_stream<Key>& random,
                                              device_token* tokens, const device_draw& options = {}) noexcept {
  if (const status why = cuda_detail::check(batch, claims); !why.ok()) return why;
  if (tokens == nullptr || !random.has_all()) return device_detail::refusal(errc::null_span);
  return cuda_detail::enqueue(how, {batch.rows.count, cuda_detail::lanes_per_warp},
                              &cuda_detail::pick_kernel<Scalar, Key>, batch, claims, random, options, tokens);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
