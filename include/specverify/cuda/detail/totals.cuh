// SPDX-License-Identifier: Apache-2.0
//! Computes two optional results of `read_rows`: Z in double and the total weight W. Each takes one more read of the
//! row.
#ifndef SPECVERIFY_CUDA_DETAIL_TOTALS_CUH
#define SPECVERIFY_CUDA_DETAIL_TOTALS_CUH

#include <specverify/cuda/detail/whole_row.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Return the functions that compute e_v and the integer weight of an untruncated row's logit, with the digest's
//! references.
[[nodiscard]] __device__ __forceinline__ kernel::exact_weight exact_of(const device_digest& digest) noexcept {
  return {static_cast<double>(digest.reference), 1.0 / digest.temperature, false};
}
[[nodiscard]] __device__ __forceinline__ kernel::integer_weight weight_of(const device_digest& digest) noexcept {
  return {static_cast<double>(digest.maximum), kernel::weight_scale(digest.temperature), false};
}

struct totals_room {
  sum_room sum;
  std::uint64_t sums[most_warps];
};

//! Runs after the digests, one thread block per row. A truncated row already has both.
template <class Scalar>
__global__ void __launch_bounds__(row_threads, 3) totals_kernel(device_batch<Scalar> batch, device_request request) {
  __shared__ totals_room room;
  device_digest& digest = batch.digests.rows[blockIdx.x];
  if (!digest.why.ok() || digest.truncated) return;  // uniform across the block
  double normaliser = 1;
  std::uint64_t total = kernel::weight_one;
  if (!digest.one_hot) {
    const kernel::row_source<Scalar> row = open_row(batch.rows, batch.transform, blockIdx.x);
    if (request.exact_normaliser) normaliser = exact_sum(row, exact_of(digest), room.sum);
    if (request.integer_total) total = integer_total(row, weight_of(digest), room.sums);
  }
  if (threadIdx.x != 0) return;
  if (request.exact_normaliser) digest.normaliser = digest.lower = digest.upper = normaliser;
  if (request.integer_total) digest.total_weight = total;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
