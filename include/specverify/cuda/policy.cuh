// SPDX-License-Identifier: Apache-2.0
//! Defines the execution policy `exec::cuda{stream}`, which runs operations on a batch of rows on a CUDA stream.
//!
//! Pass it as the first argument to `read_rows`, `sample`, `select` and the other functions of cuda/. Each call checks
//! sizes and pointers on the CPU, enqueues kernels on the stream and returns. It does not allocate, wait or read back,
//! so a graph can capture it. If CUDA reports an error, the call returns engine_failed under part::host, `where` =
//! cudaError_t.
//! Guarantees: everything except the policy is in namespace `v0`, because kernels must be there. CPU functions in `v0`
//!             are always inlined, so you can link object files that are built with different flags.
//! See:        docs/algorithms/cuda.md
#ifndef SPECVERIFY_CUDA_POLICY_CUH
#define SPECVERIFY_CUDA_POLICY_CUH

#include <specverify/cuda/detail/compiler.cuh>
#include <specverify/cuda/tuning.cuh>
#include <specverify/device/batch.hpp>
#include <specverify/device/results.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace exec {

//! Execution policy of a batch: a stream (null: the default stream), and tuning parameters for the GPU.
struct cuda {
  cudaStream_t stream = nullptr;
  cuda_tuning tuning{};
};

}  // namespace exec
SPECVERIFY_NAMESPACE_END
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

using device_detail::refusal;

//! Returns `wanted` threads rounded up to whole warps, but at most `most`.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_for(std::uint32_t wanted, std::uint32_t most) noexcept {
  return wanted < most ? (wanted + 31) / 32 * 32 : most;
}

[[nodiscard]] SPECVERIFY_INLINE status status_of(cudaError_t why) noexcept {
  return why == cudaSuccess ? status{} : status{errc::engine_failed, part::host, static_cast<std::uint32_t>(why)};
}

//! Number and size of a kernel's thread blocks.
struct launch_shape {
  std::uint32_t blocks;
  std::uint32_t threads;
};

//! Enqueues a kernel.
template <class... Parameters, class... Arguments>
[[nodiscard]] SPECVERIFY_INLINE status enqueue(exec::cuda how, launch_shape shape, void (*kernel)(Parameters...),
                                               const Arguments&... arguments) noexcept {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.stream = how.stream;
  return status_of(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
