// SPDX-License-Identifier: Apache-2.0
//! What the host does: checks sizes and pointers, and enqueues one kernel. All of cuda/ is in `v0`, where kernels must
//! be; host functions are therefore always inlined.
#ifndef SPECVERIFY_CUDA_DETAIL_LAUNCH_CUH
#define SPECVERIFY_CUDA_DETAIL_LAUNCH_CUH

#include <specverify/cuda/rows.cuh>
#include <specverify/kernel/block_source.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda {
namespace detail {

[[nodiscard]] SPECVERIFY_INLINE status refusal(errc code, std::uint32_t where = 0) noexcept {
  return {code, part::row, where};
}

template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check(const logit_rows<Scalar>& rows,
                                             const batch_transform& transform) noexcept {
  if (rows.size == 0) return refusal(errc::empty_vocabulary);
  if (rows.size > max_vocab_size) return refusal(errc::vocabulary_too_large);
  if (rows.data == nullptr) return refusal(errc::null_span);
  if (rows.pitch < rows.size || rows.count == 0) return refusal(errc::size_mismatch);
  if (transform.bias_begin != nullptr && (transform.bias_ids == nullptr || transform.bias_values == nullptr))
    return refusal(errc::null_span);
  const double temperature = transform.temperature;
  const bool usable = numeric::is_finite(temperature) && temperature >= 0.0 && temperature <= max_temperature;
  return transform.temperatures != nullptr || usable ? status{} : refusal(errc::invalid_temperature);
}

//! The digests fit the rows.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check(const logit_rows<Scalar>& rows, const digest_batch& digests) noexcept {
  if (digests.digests == nullptr || digests.block_sums == nullptr || digests.lane_sums == nullptr ||
      digests.lane_maxima == nullptr)
    return refusal(errc::null_span);
  const bool fits = digests.count >= rows.count && digests.blocks == kernel::block_count(rows.size);
  return fits ? status{} : refusal(errc::size_mismatch);
}

//! Whole warps for `wanted` threads, at most `most`.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_for(std::uint32_t wanted, std::uint32_t most) noexcept {
  return wanted < most ? (wanted + 31) / 32 * 32 : most;
}

//! Enqueues a kernel. What CUDA refuses is engine_failed under part::host, `where` = cudaError_t.
template <class... Parameters, class... Arguments>
[[nodiscard]] SPECVERIFY_INLINE status enqueue(void (*kernel)(Parameters...), std::uint32_t blocks,
                                               std::uint32_t threads, cudaStream_t stream,
                                               Arguments... arguments) noexcept {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  const cudaError_t why = cudaLaunchKernelEx(&config, kernel, arguments...);
  return why == cudaSuccess ? status{} : status{errc::engine_failed, part::host, static_cast<std::uint32_t>(why)};
}

}  // namespace detail
}  // namespace cuda
SPECVERIFY_TYPES_END

#endif
