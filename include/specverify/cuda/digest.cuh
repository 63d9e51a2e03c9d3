// SPDX-License-Identifier: Apache-2.0
//! Computes the digests of a batch of rows on a GPU: argmax, lane and block sums, and bounds on the normalizer Z, in
//! one read of each row.
//!
//! Call it first, on the engine's logits, because `sample`, `select` and most other functions of cuda/ need the
//! digests.
//! Symbols:    as in row/digest.hpp.
//! Guarantees: every number equals the result of exec::seq bit for bit, for any flags of nvcc except -ftz=true (in
//!             -use_fast_math). A row takes less than 1.02 reads if V >= 4096, but two if its maximum is more than 60
//!             temperatures above the sampled reference. Z and the total weight W cost one read each;
//!             cuda/detail/truncate.cuh gives the cost of a truncation. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/digest_test.cpp, tests/device/truncated_test.cpp
#ifndef SPECVERIFY_CUDA_DIGEST_CUH
#define SPECVERIFY_CUDA_DIGEST_CUH

#include <specverify/cuda/detail/digest_row.cuh>
#include <specverify/cuda/detail/digest_split.cuh>
#include <specverify/cuda/detail/totals.cuh>
#include <specverify/cuda/detail/truncate.cuh>
#include <specverify/cuda/policy.cuh>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Thread blocks per multiprocessor: 4 leave 64 registers per thread, 3 leave 80, 2 leave 128. With less than 128
//! registers bf16 rows would spill.
template <class Scalar, bool Plain>
inline constexpr int digest_residents = !Plain                                 ? 2
                                        : std::is_same_v<Scalar, float>        ? 4
                                        : std::is_same_v<Scalar, float16_bits> ? 3
                                                                               : 2;
//! Loads in flight per thread, limited by the registers.
template <class Scalar, bool Plain>
inline constexpr std::uint32_t read_in_flight = !Plain || std::is_same_v<Scalar, float16_bits> ? digest_in_flight
                                                : std::is_same_v<Scalar, float>                ? 3
                                                                                               : 9;

template <class Scalar, bool Plain>
__global__ void __launch_bounds__(digest_threads, digest_residents<Scalar, Plain>)
    digest_kernel(device_rows<Scalar> rows, device_transform transform, device_digests out) {
  __shared__ digest_room room;
  const std::uint32_t row = blockIdx.x;
  const double temperature = temperature_of(transform, row);
  if (!is_temperature(temperature)) {  // uniform across the block
    if (threadIdx.x == 0) out.rows[row].why = {errc::invalid_temperature, part::row, 0};
    return;
  }
  const device_digest digest = digest_row<read_in_flight<Scalar, Plain>, Plain>(
      open_as<Plain>(rows, transform, row), transform, row, place_of(out, row), room);
  if (threadIdx.x == 0) out.rows[row] = digest;
}

//! Returns the maximum number of threads in a thread block of a digest.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t most_threads_of(const cuda_tuning& tuning) noexcept {
  const bool is_given = tuning.digest_threads >= lanes_per_warp && tuning.digest_threads < digest_threads;
  return is_given ? tuning.digest_threads / lanes_per_warp * lanes_per_warp : digest_threads;
}

//! Returns the number of threads that read a row of `blocks` blocks, such that all passes take about the same number of
//! blocks.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_of_digest(const cuda_tuning& tuning,
                                                                std::uint32_t blocks) noexcept {
  const std::uint32_t most = most_threads_of(tuning);
  const std::uint32_t passes = (blocks * per_block + most - 1) / most;
  return threads_for((blocks + passes - 1) / passes * per_block, most);
}

//! Returns the number of parts that each row is split into, so that all multiprocessors have work.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t parts_of(const cuda_tuning& tuning,
                                                       const device_batch<Scalar>& batch) noexcept {
  const std::uint32_t running = tuning.multiprocessors * tuning.digest_blocks / batch.rows.count;
  const std::uint32_t most = batch.digests.blocks / (tuning.least_part == 0 ? 1 : tuning.least_part);
  const std::uint32_t parts = running < most ? running : most;
  return parts == 0 ? 1 : parts;
}

//! Returns whether rows can be read as they are stored, in wide loads.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE bool is_plain(const device_rows<Scalar>& rows,
                                              const device_transform& transform) noexcept {
  const bool aligned = reinterpret_cast<std::uintptr_t>(rows.data) % (per_load * sizeof(Scalar)) == 0;
  return aligned && rows.pitch % per_load == 0 && transform.mask_words == nullptr && transform.bias_begin == nullptr;
}

//! Returns the number of threads per part for `parts` parts of rows: enough to read the part, and more if the
//! multiprocessors have room, because the threads of the last part close the row.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_of_part(const cuda_tuning& tuning, std::uint32_t blocks,
                                                              std::uint32_t parts) noexcept {
  const std::uint32_t read = threads_of_digest(tuning, blocks), most = most_threads_of(tuning);
  const std::uint32_t held = tuning.multiprocessors * digest_threads / parts / lanes_per_warp * lanes_per_warp;
  return held <= read ? read : held < most ? held : most;
}

template <bool Plain, class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status enqueue_digests(exec::cuda how, const device_batch<Scalar>& batch) noexcept {
  const std::uint32_t rows = batch.rows.count, blocks = batch.digests.blocks, parts = parts_of(how.tuning, batch);
  const launch_shape whole{rows, threads_of_digest(how.tuning, blocks)};
  if (parts == 1) return enqueue(how, whole, &digest_kernel<Scalar, Plain>, batch.rows, batch.transform, batch.digests);
  const launch_shape split{rows * parts, threads_of_part(how.tuning, (blocks + parts - 1) / parts, rows * parts)};
  const launch_shape sampled{rows, threads_for(blocks * per_block, reference_threads)};
  const status why = enqueue(how, sampled, &reference_kernel<Scalar>, batch.rows, batch.transform, batch.digests);
  if (!why.ok()) return why;
  return enqueue(how, split, &split_kernel<Scalar, Plain>, batch.rows, batch.transform, batch.digests, parts);
}

}  // namespace cuda_detail

//! Enqueues the digests of a batch's rows, with one more kernel if rows are truncated or totals are requested.
//! Errors of the call: errors of `make_device_batch` for rows and transform; null_span and size_mismatch (the digests
//! do not belong to these rows); engine_failed. A row's error is in its digest.
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
#include <specverify/core/foreign_macros_on.def>

#endif
