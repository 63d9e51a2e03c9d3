// SPDX-License-Identifier: Apache-2.0
//! Writes the distributions of a batch's rows as floats, on a GPU.
//!
//! Use it if code outside the library needs probabilities. No earlier `read_rows` is needed, because the call uses no
//! digests.
//! Guarantees: three reads and one write per row. If the temperature is below 1e-6, one read, and the probability is 1
//!             at the argmax and 0 elsewhere. The floats equal the results of exec::seq bit for bit, for any flags of
//!             nvcc except -ftz=true. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/whole_row_test.cpp
#ifndef SPECVERIFY_CUDA_SOFTMAX_CUH
#define SPECVERIFY_CUDA_SOFTMAX_CUH

#include <specverify/cuda/detail/whole_row.cuh>
#include <specverify/cuda/policy.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

struct softmax_room {
  top_room top;
  sum_room sum;
};

//! Writes e_v * inverse for each id.
template <class Scalar>
__device__ __forceinline__ void write_law(const kernel::row_source<Scalar>& row, const kernel::exact_weight& weight,
                                          double inverse, float* out) noexcept {
  const bool aligned = is_aligned(row.data);
  const bool in_lines = is_aligned(out);
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(threadIdx.x * per_load);
  for (std::uint32_t id = threadIdx.x * per_load; id < row.size; id += blockDim.x * per_load) {
    const four_logits four = load_four(row, aligned, id, bias);
    float law[per_load];
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)
      law[i] = static_cast<float>(weight(static_cast<double>(four.at[i])) * inverse);
    if (in_lines && id + per_load <= row.size) {
      *reinterpret_cast<float4*>(out + id) = make_float4(law[0], law[1], law[2], law[3]);
      continue;
    }
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)
      if (id + i < row.size) out[id + i] = law[i];
  }
}

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ status softmax_of(const device_rows<Scalar>& rows,
                                                           const device_transform& transform, float* out,
                                                           softmax_room& room) noexcept {
  if (const status why = check_whole(transform, blockIdx.x); !why.ok()) return why;
  const kernel::row_source<Scalar> row = open_row(rows, transform, blockIdx.x);
  const double temperature = temperature_of(transform, blockIdx.x);
  const row_top top = find_top(row, room.top);
  if (!top.why.ok()) return top.why;
  if (is_greedy(temperature)) {
    for (std::uint32_t id = threadIdx.x; id < row.size; id += blockDim.x) out[id] = id == top.id ? 1.0f : 0.0f;
    return {};
  }
  const kernel::exact_weight weight{static_cast<double>(top.maximum), 1.0 / temperature, false};
  write_law(row, weight, 1.0 / exact_sum(row, weight, room.sum), out);
  return {};
}

template <class Scalar>
__global__ void __launch_bounds__(row_threads, 3)
    softmax_kernel(device_rows<Scalar> rows, device_transform transform, device_probabilities out) {
  __shared__ softmax_room room;
  const status why = softmax_of(rows, transform, out.values + blockIdx.x * out.pitch, room);
  if (threadIdx.x == 0) out.rows[blockIdx.x] = why;
}

}  // namespace cuda_detail

//! Enqueues the distributions of all rows. A row with an error gets no values.
//! Errors of the call: errors of `make_device_batch` for rows and transform; unsupported (a truncation), null_span,
//! output_too_small (pitch below `where` = row size); engine_failed.
//! Errors of a row: row_has_nan, row_has_positive_infinity, row_is_empty, invalid_temperature, invalid_truncation,
//! unsupported.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status softmax(exec::cuda how, const device_rows<Scalar>& rows,
                                               const device_transform& transform,
                                               const device_probabilities& out) noexcept {
  if (const status why = cuda_detail::check_whole_rows(rows, transform); !why.ok()) return why;
  if (out.rows == nullptr || out.values == nullptr) return device_detail::refusal(errc::null_span);
  if (out.pitch < rows.size) return device_detail::refusal(errc::output_too_small, rows.size);
  return cuda_detail::enqueue(how, {rows.count, cuda_detail::threads_for_row(rows.size)},
                              &cuda_detail::softmax_kernel<Scalar>, rows, transform, out);
}

SPECVERIFY_TYPES_END

#endif
