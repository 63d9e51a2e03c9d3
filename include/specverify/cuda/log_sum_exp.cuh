// SPDX-License-Identifier: Apache-2.0
//! Computes the log of the sum of e^(z_v / T) for each row of a batch, in nats, on a GPU. z_v are the row's logits
//! after bias and mask, and T is the temperature.
//!
//! Use it if an engine needs the normalizer of rows. No earlier `read_rows` is needed, because the call uses no
//! digests.
//! Guarantees: one read per row. The absolute error is below 2e-6 + 2^-51 |result| up to 2^20 ids, 2.2e-6 beyond, as
//!             under exec::simd. Last bits may differ between GPUs, tunings and numbers of rows, but not between runs.
//!             With `exact`, two reads give the value of exec::seq bit for bit, under any flags of nvcc. The exact form
//!             takes about 40 operations in double per id, so it is slow on GPUs with few units for double. No
//!             allocation.
//! See:        docs/algorithms/cuda.md, tests/device/log_sum_exp_test.cpp, tests/device/whole_row_test.cpp
#ifndef SPECVERIFY_CUDA_LOG_SUM_EXP_CUH
#define SPECVERIFY_CUDA_LOG_SUM_EXP_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/quick_sum.cuh>
#include <specverify/cuda/detail/whole_row.cuh>
#include <specverify/cuda/policy.cuh>

SPECVERIFY_TYPES_BEGIN

//! Options of log_sum_exp.
struct device_sum_options {
  bool exact = false;  //!< returns the value of exec::seq bit for bit, with two reads and sums in double
};

namespace cuda_detail {

inline constexpr std::uint32_t quick_in_flight = 4;  // loads in flight per thread
inline constexpr float sum_headroom = 4;             // maximum octaves of a term above the reference

struct quick_room {
  float tops[most_warps];
  double sums[most_warps];
  std::uint32_t least;
};

struct log_sum_exp_room {
  top_room top;
  sum_room sum;
};

//! Returns the error of a row's transform, which is found without reading the row.
[[nodiscard]] __device__ __forceinline__ status check_sum(const device_transform& transform,
                                                          std::uint32_t row) noexcept {
  if (const status why = check_whole(transform, row); !why.ok()) return why;
  return is_greedy(temperature_of(transform, row)) ? status{errc::invalid_temperature, part::row, 0} : status{};
}

//! Sum of one thread's exponentials, relative to the largest of the thread's logits so far.
struct quick_part {
  float reference = -3.402823466e+38f;  // finite, so that differences from it are numbers
  double sum = 0;                       // NaN if a logit is NaN or +infinity

  //! Changes the reference to `to`, and rescales the sum.
  __device__ __forceinline__ void move(float to, double inverse) noexcept {
    if (!(sum <= 0.0))  // NaN stays
      sum = __dmul_rn(
          sum, kernel::exponential(__dmul_rn(static_cast<double>(reference) - static_cast<double>(to), inverse)));
    reference = to;
  }
  __device__ __forceinline__ void add(const logit_group<quick_in_flight>& group, const octave_scale& scale,
                                      double inverse) noexcept {
    float top = group.at[0].at[0], parts[quick_in_flight];
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t k = 0; k < quick_in_flight; ++k) {
      SPECVERIFY_UNROLL(4)
      for (std::uint32_t i = 0; i < per_load; ++i) top = std::fmax(top, group.at[k].at[i]);
    }
    if (scale(top - reference) > sum_headroom) move(top, inverse);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t k = 0; k < quick_in_flight; ++k) {
      float terms[per_load];
      SPECVERIFY_UNROLL(4)
      for (std::uint32_t i = 0; i < per_load; ++i) terms[i] = quick_power(scale(group.at[k].at[i] - reference));
      parts[k] = __fadd_rn(__fadd_rn(terms[0], terms[1]), __fadd_rn(terms[2], terms[3]));
    }
    sum = __dadd_rn(sum, static_cast<double>(__fadd_rn(__fadd_rn(parts[0], parts[1]), __fadd_rn(parts[2], parts[3]))));
  }
};

//! Returns the maximum over all threads; every thread gets it. `room` has most_warps entries.
[[nodiscard]] __device__ __forceinline__ float top_of_block(float mine, float* room) noexcept {
  for (int with = 16; with > 0; with /= 2) mine = std::fmax(mine, __shfl_xor_sync(all_lanes, mine, with));
  if (lane_of_thread() == 0) room[warp_of_thread()] = mine;
  __syncthreads();
  for (std::uint32_t warp = 0; warp < warps_of_block(); ++warp) mine = std::fmax(mine, room[warp]);
  return mine;
}

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_value quick_log_sum_exp_of(const device_rows<Scalar>& rows,
                                                                           const device_transform& transform,
                                                                           quick_room& room) noexcept {
  device_value found;
  found.why = check_sum(transform, blockIdx.x);
  if (!found.why.ok()) return found;
  const kernel::row_source<Scalar> row = open_row(rows, transform, blockIdx.x);
  const bool aligned = is_aligned(row.data);
  const double temperature = temperature_of(transform, blockIdx.x), inverse = 1.0 / temperature;
  const octave_scale scale = octave_scale::of(temperature);
  const std::uint32_t stride = blockDim.x * per_load;
  std::uint32_t id = threadIdx.x * per_load;
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(id);
  quick_part mine;
  SPECVERIFY_UNROLL(1)
  for (; id < row.size; id += quick_in_flight * stride)
    mine.add(load_group<quick_in_flight>(row, aligned, id, stride, bias), scale, inverse);
  const float top = top_of_block(mine.reference, room.tops);
  mine.move(top, inverse);
  const double sum = real_sum_of_block(mine.sum, room.sums);
  if (!(sum > 0.0)) {  // uniform across the block
    found.why = find_error(row, &room.least);
    return found;
  }
  found.value = kernel::logarithm(sum) + static_cast<double>(top) / temperature;
  return found;
}

template <class Scalar>
__global__ void __launch_bounds__(most_row_threads, 1)
    quick_kernel(device_rows<Scalar> rows, device_transform transform, device_value* out) {
  __shared__ quick_room room;
  const device_value found = quick_log_sum_exp_of(rows, transform, room);
  if (threadIdx.x == 0) out[blockIdx.x] = found;
}

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_value log_sum_exp_of(const device_rows<Scalar>& rows,
                                                                     const device_transform& transform,
                                                                     log_sum_exp_room& room) noexcept {
  device_value found;
  found.why = check_sum(transform, blockIdx.x);
  if (!found.why.ok()) return found;
  const kernel::row_source<Scalar> row = open_row(rows, transform, blockIdx.x);
  const double temperature = temperature_of(transform, blockIdx.x);
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

//! Enqueues the log-sum-exp of each row into `values`.
//! Errors of the call: errors of `make_device_batch` for rows and transform; unsupported (a truncation), null_span
//! (values); engine_failed.
//! Errors of a row: row_has_nan, row_has_positive_infinity, row_is_empty, invalid_temperature (also below 1e-6),
//! invalid_truncation, unsupported.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status log_sum_exp(exec::cuda how, const device_rows<Scalar>& rows,
                                                   const device_transform& transform, device_value* values,
                                                   const device_sum_options& options = {}) noexcept {
  if (const status why = cuda_detail::check_whole_rows(rows, transform); !why.ok()) return why;
  if (values == nullptr) return device_detail::refusal(errc::null_span);
  if (options.exact)
    return cuda_detail::enqueue(how, {rows.count, cuda_detail::threads_for_row(rows.size)},
                                &cuda_detail::normaliser_kernel<Scalar>, rows, transform, values);
  return cuda_detail::enqueue(how, {rows.count, cuda_detail::threads_for_rows(how.tuning, rows.size, rows.count)},
                              &cuda_detail::quick_kernel<Scalar>, rows, transform, values);
}

SPECVERIFY_TYPES_END

#endif
