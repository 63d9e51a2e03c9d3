// SPDX-License-Identifier: Apache-2.0
//! Computes the total weight W of a row whose small weights are known to be zero. The order of the sum does not matter,
//! because the weights are integers.
#ifndef SPECVERIFY_CUDA_DETAIL_TOTAL_CUH
#define SPECVERIFY_CUDA_DETAIL_TOTAL_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t total_in_flight = 4;  // loads in flight per thread

//! Reads the row once and returns W. No logit below `least` may have a positive weight. Every thread of the block gets
//! W.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint64_t integer_total(
    const kernel::row_source<Scalar>& row, const kernel::integer_weight& weight, std::uint64_t* room,
    float least = kernel::negative_infinity<float>()) noexcept {
  std::uint64_t sum = 0;
  read_in_groups<total_in_flight>(row, [&](float value, std::uint32_t) {
    if (value >= least) sum += weight(static_cast<double>(value));
  });
  return sum_of_block(sum, room);
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
