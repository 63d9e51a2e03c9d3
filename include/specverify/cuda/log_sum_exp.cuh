// SPDX-License-Identifier: Apache-2.0
//! log of the sum of e^(z_v / T) of each row of a batch, in nats, on a GPU.
//!
//! Use it when your engine wants the normaliser of rows. It needs no digest.
//! Shape:      a thread block a row: the maximum, then the sum in terms of 256 ids, as row/log_sum_exp.hpp.
//! Guarantees: two reads of a row. The value of exec::seq bit for bit: exponentials and logarithm are the host's own,
//!             and nothing is fused whatever nvcc's flags. About 40 operations in double an id: cards with few units
//!             for them are bound by those. No allocation, no synchronisation, nothing is read back.
//! See:        docs/algorithms/cuda.md, tests/device/whole_row_test.cpp
#ifndef SPECVERIFY_CUDA_LOG_SUM_EXP_CUH
#define SPECVERIFY_CUDA_LOG_SUM_EXP_CUH

#include <specverify/cuda/detail/whole_row.cuh>
#include <specverify/cuda/policy.cuh>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

struct log_sum_exp_room {
  top_room top;
  sum_room sum;
};

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_value log_sum_exp_of(const device_rows<Scalar>& rows,
                                                                     const device_transform& transform,
                                                                     log_sum_exp_room& room) noexcept {
  device_value found;
  found.why = check_whole(transform, blockIdx.x);
  if (!found.why.ok()) return found;
  const double temperature = temperature_of(transform, blockIdx.x);
  if (is_greedy(temperature)) found.why = {errc::invalid_temperature, part::row, 0};
  if (!found.why.ok()) return found;
  const kernel::row_source<Scalar> row = open_row(rows, transform, blockIdx.x);
  const row_top top = find_top(row, room.top);
  found.why = top.why;
  if (!found.why.ok()) return found;
  const auto maximum = static_cast<double>(top.maximum);
  const double sum = exact_sum(row, {maximum, 1.0 / temperature, false}, room.sum);
  found.value = kernel::logarithm(sum) + maximum / temperature;
  return found;
}

template <class Scalar>
__global__ void __launch_bounds__(row_threads, 3)
    normaliser_kernel(device_rows<Scalar> rows, device_transform transform, device_value* out) {
  __shared__ log_sum_exp_room room;
  const device_value found = log_sum_exp_of(rows, transform, room);
  if (threadIdx.x == 0) out[blockIdx.x] = found;
}

}  // namespace cuda_detail

//! Enqueues the log-sum-exp of each row into `values`. Errors, of the arguments alone: those of `make_device_batch` for
//! rows and transform; unsupported (a truncation), null_span (values); engine_failed. Of a row: row_has_nan,
//! row_has_positive_infinity, row_is_empty, invalid_temperature (below 1e-6 too), invalid_truncation, unsupported.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status log_sum_exp(exec::cuda how, const device_rows<Scalar>& rows,
                                                   const device_transform& transform, device_value* values) noexcept {
  if (const status why = cuda_detail::check_whole_rows(rows, transform); !why.ok()) return why;
  if (values == nullptr) return device_detail::refusal(errc::null_span);
  return cuda_detail::enqueue(how, {rows.count, cuda_detail::threads_for_row(rows.size)},
                              &cuda_detail::normaliser_kernel<Scalar>, rows, transform, values);
}

SPECVERIFY_TYPES_END

#endif
