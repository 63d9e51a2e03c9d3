// SPDX-License-Identifier: Apache-2.0
//! Tests whether to accept one drafted token per row of a batch, on a GPU.
//!
//! Use it after `read_rows` (digest.cuh) if you need no replacement for rejected drafts. To verify whole rounds of
//! drafts, use `verify_batch` (verify.cuh).
//! Symbols:    as in row/acceptance.hpp.
//! Guarantees: accepted, near_tie and exact equal the results of exec::seq. A test reads one logit if the digest's
//!             bounds on the normalizer Z decide it. Otherwise it reads the row once, and a second time if the two
//!             sides of the test are closer than a relative 2e-5. A truncated row reads only the kept ids. No
//!             allocation.
//! See:        docs/algorithms/cuda.md, tests/device/accept_test.cpp
#ifndef SPECVERIFY_CUDA_ACCEPT_CUH
#define SPECVERIFY_CUDA_ACCEPT_CUH

#include <specverify/cuda/detail/block_draw.cuh>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

template <class Scalar, class Key, bool Cuts>
__global__ void __launch_bounds__(test_threads, 1)
    accept_kernel(device_batch<Scalar> batch, const drafted_token* drafted, device_stream<Key> random,
                  device_acceptance* out) {
  __shared__ block_room room;
  const std::uint32_t number = blockIdx.x;
  const device_digest& digest = batch.digests.rows[number];
  const drafted_token mine = drafted[number];
  device_acceptance found;
  found.why = digest.of_whole_row();
  if (found.why.ok() && (mine.token < 0 || static_cast<std::uint32_t>(mine.token) >= batch.rows.size))
    found.why = {errc::token_out_of_range, part::row, 0};
  if (found.why.ok() && (mine.resolution == 0 || mine.count > mine.resolution))
    found.why = {errc::invalid_resolution, part::row, 0};
  if (found.why.ok()) {  // uniform across the block
    tested_row<Scalar, Cuts> row =
        open_digest<Cuts>(open_row(batch.rows, batch.transform, number), batch.digests, number, room);
    double uniform = 0;
    if (threadIdx.x == 0) uniform = decision_uniform(random.at(number, random.first_of(number)));
    const acceptance tested = test_token(row, mine, uniform, room);
    found.accepted = tested.accepted;
    found.near_tie = tested.near_tie;
    found.exact = tested.exact;
  }
  if (threadIdx.x == 0) out[number] = found;
}

}  // namespace cuda_detail

//! Enqueues one accept test per row, on digests from `read_rows`.
//! Errors of the call: as for `read_rows`; null_span (drafted, keys, positions, rounds or out).
//! Errors of a row: the digest's error, token_out_of_range, invalid_resolution (0, or below count).
template <class Scalar, class Key>
[[nodiscard]] SPECVERIFY_INLINE status accept(exec::cuda how, const device_batch<Scalar>& batch,
                                              const drafted_token* drafted, const device_stream<Key>& random,
                                              device_acceptance* out) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (drafted == nullptr || out == nullptr || !random.has_all()) return device_detail::refusal(errc::null_span);
  const auto chosen = batch.transform.may_truncate() ? &cuda_detail::accept_kernel<Scalar, Key, true>
                                                     : &cuda_detail::accept_kernel<Scalar, Key, false>;
  return cuda_detail::enqueue(how, {batch.rows.count, cuda_detail::test_threads_for(batch.rows)}, chosen, batch,
                              drafted, random, out);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
