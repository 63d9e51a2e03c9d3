// SPDX-License-Identifier: Apache-2.0
//! Computes the integer weights w_v, about 2^31 e^((z_v - max) / T), and their sum W for each row of a batch, on a GPU.
//! z_v are the row's logits, and T is the temperature.
//!
//! Use it if all backends must compute the same numbers. No earlier `read_rows` is needed.
//! Guarantees: two reads and one write per row, or one read if T is below 1e-6. The integers equal the results of
//!             exec::seq (row/integer_weights.hpp), for any flags of nvcc except -ftz=true. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/whole_row_test.cpp
#ifndef SPECVERIFY_CUDA_INTEGER_WEIGHTS_CUH
#define SPECVERIFY_CUDA_INTEGER_WEIGHTS_CUH

#include <specverify/cuda/detail/whole_row.cuh>
#include <specverify/cuda/policy.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

struct weights_room {
  top_room top;
  std::uint64_t sums[most_warps];
};

//! Writes all weights. Every thread gets the sum.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint64_t write_weights(const kernel::row_source<Scalar>& row,
                                                                     const kernel::integer_weight& weight,
                                                                     std::uint32_t* out, std::uint64_t* room) noexcept {
  const bool aligned = is_aligned(row.data);
  std::uint64_t sum = 0;
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(threadIdx.x * per_load);
  for (std::uint32_t id = threadIdx.x * per_load; id < row.size; id += blockDim.x * per_load) {
    const four_logits four = load_four(row, aligned, id, bias);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) {
      if (id + i >= row.size) continue;
      const std::uint32_t found = weight(static_cast<double>(four.at[i]));
      sum += found;
      out[id + i] = found;
    }
  }
  return sum_of_block(sum, room);
}

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_total weights_of_row(const device_rows<Scalar>& rows,
                                                                     const device_transform& transform,
                                                                     std::uint32_t* out, weights_room& room) noexcept {
  device_total found;
  found.why = check_whole(transform, blockIdx.x);
  if (!found.why.ok()) return found;
  const kernel::row_source<Scalar> row = open_row(rows, transform, blockIdx.x);
  const double temperature = temperature_of(transform, blockIdx.x);
  const row_top top = find_top(row, room.top);
  found.why = top.why;
  if (!found.why.ok()) return found;
  if (is_greedy(temperature)) {
    for (std::uint32_t id = threadIdx.x; id < row.size; id += blockDim.x)
      out[id] = id == top.id ? kernel::weight_one : 0;
    found.total_weight = kernel::weight_one;
    return found;
  }
  const kernel::integer_weight weight{static_cast<double>(top.maximum), kernel::weight_scale(temperature), false};
  found.total_weight = write_weights(row, weight, out, room.sums);
  return found;
}

template <class Scalar>
__global__ void __launch_bounds__(row_threads, 3)
    weights_kernel(device_rows<Scalar> rows, device_transform transform, device_weights out) {
  __shared__ weights_room room;
  const device_total found = weights_of_row(rows, transform, out.values + blockIdx.x * out.pitch, room);
  if (threadIdx.x == 0) out.rows[blockIdx.x] = found;
}

}  // namespace cuda_detail

//! Enqueues the integer weights and the total W of all rows. Errors: as for `softmax` (cuda/softmax.cuh).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status integer_weights(exec::cuda how, const device_rows<Scalar>& rows,
                                                       const device_transform& transform,
                                                       const device_weights& out) noexcept {
  if (const status why = cuda_detail::check_whole_rows(rows, transform); !why.ok()) return why;
  if (out.rows == nullptr || out.values == nullptr) return device_detail::refusal(errc::null_span);
  if (out.pitch < rows.size) return device_detail::refusal(errc::output_too_small, rows.size);
  return cuda_detail::enqueue(how, {rows.count, cuda_detail::threads_for_row(rows.size)},
                              &cuda_detail::weights_kernel<Scalar>, rows, transform, out);
}

SPECVERIFY_TYPES_END

#endif
