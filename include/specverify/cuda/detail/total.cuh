// SPDX-License-Identifier: Apache-2.0
//! W of rows whose small weights are known to be none: the sum of integer weights, which no order changes.
#ifndef SPECVERIFY_CUDA_DETAIL_TOTAL_CUH
#define SPECVERIFY_CUDA_DETAIL_TOTAL_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! W, by one read of the row. No logit below `least` has a positive weight. Every thread of the block gets it.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint64_t integer_total(
    const kernel::row_source<Scalar>& row, const kernel::integer_weight& weight, std::uint64_t* room,
    float least = kernel::negative_infinity<float>()) noexcept {
  const bool aligned = is_aligned(row.data);
  std::uint64_t sum = 0;
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(threadIdx.x * per_load);
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t id = threadIdx.x * per_load; id < row.size; id += blockDim.x * per_load) {
    const four_logits four = load_four(row, aligned, id, bias);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)
      if (four.at[i] >= least) sum += weight(static_cast<double>(four.at[i]));
  }
  return sum_of_block(sum, room);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
