// SPDX-License-Identifier: Apache-2.0
//! Logits of one thread from several places of a row, all loads under way before one of them is waited for.
#ifndef SPECVERIFY_CUDA_DETAIL_LOAD_TOGETHER_CUH
#define SPECVERIFY_CUDA_DETAIL_LOAD_TOGETHER_CUH

#include <specverify/cuda/detail/load.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Four logits from each of `Loads` places.
template <int Loads>
struct logits_together {
  four_logits at[Loads];
};

//! The logits of four ids at each of id, id + stride, ...; -infinity behind the end of the row. No branch is between
//! loads where the row is aligned and has neither mask nor bias. `bias` as for load_four.
template <int Loads, class Scalar>
[[nodiscard]] __device__ __forceinline__ logits_together<Loads> load_together(const kernel::row_source<Scalar>& row,
                                                                              bool aligned, std::uint32_t id,
                                                                              std::uint32_t stride,
                                                                              std::uint32_t& bias) noexcept {
  logits_together<Loads> found;
  const std::uint32_t end = id + static_cast<std::uint32_t>(Loads - 1) * stride + per_load;
  if (aligned && end <= row.size && row.mask == nullptr && row.bias_count == 0) {
    SPECVERIFY_UNROLL(8)
    for (int k = 0; k < Loads; ++k) found.at[k] = load_aligned(row.data + id + static_cast<std::uint32_t>(k) * stride);
    return found;
  }
  SPECVERIFY_UNROLL(8)
  for (int k = 0; k < Loads; ++k)
    found.at[k] = load_four(row, aligned, id + static_cast<std::uint32_t>(k) * stride, bias);
  return found;
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
