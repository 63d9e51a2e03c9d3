// SPDX-License-Identifier: Apache-2.0
//! Draws a token on a GPU to replace a rejected draft, for each row of a batch. The token has the residual distribution
//! norm((scale * p - q)+), for the target's distribution p, the draft's distribution q, and `scale` in (0, 1]
//! (residual_options).
//!
//! Use it after `read_rows` (digest.cuh), with one `law` (quantized distribution) per row. To verify whole rounds of
//! drafts, use `verify_batch` (verify.cuh).
//! Guarantees: token, trials, exact and fallback equal the results of exec::seq. A trial reads one lane of the row, and
//!             the whole row if the digest's bounds on the normalizer do not decide. The exact rule reads the row once,
//!             or three times if block sums do not prove the result. A truncated row always uses this rule, on the kept
//!             ids. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/residual_test.cpp
#ifndef SPECVERIFY_CUDA_RESIDUAL_CUH
#define SPECVERIFY_CUDA_RESIDUAL_CUH

#include <specverify/cuda/detail/block_draw.cuh>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

template <class Scalar, class Key, bool Cuts>
__global__ void __launch_bounds__(test_threads, 1)
    residual_kernel(device_batch<Scalar> batch, const law* laws, device_stream<Key> random, residual_options options,
                    device_token* out) {
  __shared__ block_room room;
  const std::uint32_t number = blockIdx.x;
  const device_digest& digest = batch.digests.rows[number];
  const law* const taken = laws + number;
  device_token found;
  found.why = digest.of_whole_row();
  if (found.why.ok() && taken->resolution == 0) found.why = {errc::invalid_resolution, part::row, 0};
  if (found.why.ok()) {  // uniform across the block
    tested_row<Scalar, Cuts> row =
        open_digest<Cuts>(open_row(batch.rows, batch.transform, number), batch.digests, number, room);
    const subtracted_law subtracted{taken, no_token, 1.0 / static_cast<double>(taken->resolution)};
    const draw_place<Key> place{random.keys + std::size_t{number} * random.key_pitch, random.first_of(number)};
    found = draw_from(row, subtracted, place, options, room);
  }
  if (threadIdx.x == 0) out[number] = found;
}

}  // namespace cuda_detail

//! Enqueues one draw per row after subtracting `laws[r]` from row r, on digests from `read_rows`. The distributions and
//! their arrays must be in device memory and are not checked.
//! Errors of the call: as for `read_rows`; null_span (`laws`, keys, positions, rounds or tokens); invalid_argument (a
//! scale outside (0, 1]).
//! Errors of a row: the digest's error, invalid_resolution (0), residual_unavailable (p has no mass).
template <class Scalar, class Key>
[[nodiscard]] SPECVERIFY_INLINE status residual(exec::cuda how, const device_batch<Scalar>& batch, const law* laws,
                                                const device_stream<Key>& random, device_token* tokens,
                                                const residual_options& options = {}) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (laws == nullptr || tokens == nullptr || !random.has_all()) return device_detail::refusal(errc::null_span);
  if (!numeric::is_finite(options.scale) || !(options.scale > 0.0 && options.scale <= 1.0))
    return device_detail::refusal(errc::invalid_argument);
  const auto chosen = batch.transform.may_truncate() ? &cuda_detail::residual_kernel<Scalar, Key, true>
                                                     : &cuda_detail::residual_kernel<Scalar, Key, false>;
  const std::uint32_t threads = cuda_detail::draw_threads_for(cuda_detail::test_threads_for(batch.rows));
  return cuda_detail::enqueue(how, {batch.rows.count, threads}, chosen, batch, laws, random, options, tokens);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
