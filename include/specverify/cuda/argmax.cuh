// SPDX-License-Identifier: Apache-2.0
//! The greedy tokens of a batch of rows on a GPU, with the margin to the runner-up.
//!
//! Use it when you decode greedily: it needs no digest.
//! Guarantees: one read of a row; token, margin and near_tie are those of `argmax` (row/argmax.hpp) bit for bit. No
//!             allocation, no synchronisation, nothing is read back.
//! See:        docs/algorithms/cuda.md, tests/device/argmax_test.cpp
#ifndef SPECVERIFY_CUDA_ARGMAX_CUH
#define SPECVERIFY_CUDA_ARGMAX_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/kernel/scalar/argmax.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t argmax_threads = 512;  // at most

//! The two largest of the logits that a thread has seen; ids came ascending.
struct two_best {
  best_entry first, second;
  bool has_nan;

  __device__ __forceinline__ void add(float value, std::uint32_t id) noexcept {
    if (kernel::is_nan(value)) has_nan = true;
    if (value > first.value) {
      second = first;
      first = {value, id};
    } else if (value > second.value) {
      second = {value, id};
    }
  }
};

struct argmax_room {
  best_entry best[most_warps];
  std::uint32_t least;
};

//! The greedy token of a row, by a block; every thread gets it.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_argmax argmax_of_row(const kernel::row_source<Scalar>& row,
                                                                     argmax_room& room) noexcept {
  const bool aligned = is_aligned(row.data);
  const float none = kernel::negative_infinity<float>();
  two_best mine{{none, 0}, {none, no_id}, false};
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(threadIdx.x * per_load);
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t id = threadIdx.x * per_load; id < row.size; id += blockDim.x * per_load) {
    const four_logits four = load_four(row, aligned, id, bias);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) mine.add(four.at[i], id + i);
  }
  const bool has_nan = __syncthreads_or(mine.has_nan) != 0;
  const best_entry first = best_of_block(mine.first, room.best);
  const best_entry second = best_of_block(mine.first.id == first.id ? mine.second : mine.first, room.best);
  device_argmax found;
  if (has_nan || !kernel::is_finite(first.value)) {
    found.why = find_error(row, &room.least);
  } else {
    const kernel::value_margin to_second =
        kernel::margin_of(static_cast<double>(first.value), static_cast<double>(second.value));
    found.token = static_cast<token_id>(first.id);
    found.near_tie = to_second.near_tie;
    found.margin = to_second.margin;
  }
  return found;
}

template <class Scalar>
__global__ void __launch_bounds__(argmax_threads, 2)
    argmax_kernel(device_rows<Scalar> rows, device_transform transform, device_argmax* out) {
  __shared__ argmax_room room;
  const device_argmax found = argmax_of_row(open_row(rows, transform, blockIdx.x), room);
  if (threadIdx.x == 0) out[blockIdx.x] = found;
}

}  // namespace cuda_detail

//! Enqueues the greedy tokens of `rows`, one a row into `tokens`. Temperature and truncation do not matter. Errors, of
//! the arguments alone: those of `make_device_batch` for rows and transform; null_span (tokens); engine_failed.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status argmax(exec::cuda how, const device_rows<Scalar>& rows,
                                              const device_transform& transform, device_argmax* tokens) noexcept {
  if (const status why = device_detail::check(rows, transform); !why.ok()) return why;
  if (tokens == nullptr) return device_detail::refusal(errc::null_span);
  const std::uint32_t loads = (rows.size + cuda_detail::per_load - 1) / cuda_detail::per_load;
  return cuda_detail::enqueue(how, {rows.count, cuda_detail::threads_for(loads, cuda_detail::argmax_threads)},
                              &cuda_detail::argmax_kernel<Scalar>, rows, transform, tokens);
}

SPECVERIFY_TYPES_END

#endif
