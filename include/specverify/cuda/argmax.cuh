// SPDX-License-Identifier: Apache-2.0
//! Finds the greedy token of each row of a batch, and the margin to the runner-up, on a GPU.
//!
//! Use it if you decode greedily. No earlier `read_rows` (cuda/digest.cuh) is needed.
//! Guarantees: one read per row. Token, margin and near_tie equal the results of `argmax` (row/argmax.hpp) bit for bit.
//!             No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/argmax_test.cpp
#ifndef SPECVERIFY_CUDA_ARGMAX_CUH
#define SPECVERIFY_CUDA_ARGMAX_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/kernel/scalar/argmax.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t argmax_in_flight = 6;  // loads in flight per thread

//! The largest logit that a thread has read, with the least id that has it, and the second largest logit. Ids must be
//! added in ascending order.
struct two_best {
  best_entry first;
  float second;
  float nan;  // NaN if a logit was NaN, otherwise the largest logit

  __device__ __forceinline__ void add(float value, std::uint32_t id) noexcept {
    nan = larger_or_nan(nan, value);
    const bool is_first = value > first.value, is_second = value > second;
    second = is_first ? first.value : is_second ? value : second;
    first = {is_first ? value : first.value, is_first ? id : first.id};
  }
};

struct argmax_room {
  best_entry best[most_warps];
  std::uint32_t least;
};

//! Finds the greedy token of a row with one thread block. Every thread gets the token.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_argmax argmax_of_row(const kernel::row_source<Scalar>& row,
                                                                     argmax_room& room) noexcept {
  const float none = kernel::negative_infinity<float>();
  two_best mine{{none, 0}, none, none};
  read_in_groups<argmax_in_flight>(row, [&](float value, std::uint32_t id) { mine.add(value, id); });
  const bool has_nan = __syncthreads_or(kernel::is_nan(mine.nan)) != 0;
  const best_entry first = best_of_block(mine.first, room.best);
  const float rest = mine.first.id == first.id ? mine.second : mine.first.value;
  const best_entry second = best_of_block({rest, no_id}, room.best);
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
__global__ void __launch_bounds__(most_row_threads, 1)
    argmax_kernel(device_rows<Scalar> rows, device_transform transform, device_argmax* out) {
  __shared__ argmax_room room;
  const device_argmax found = argmax_of_row(open_row(rows, transform, blockIdx.x), room);
  if (threadIdx.x == 0) out[blockIdx.x] = found;
}

}  // namespace cuda_detail

//! Enqueues the greedy token of each row into `tokens`, indexed by row. Temperature and truncation have no effect.
//! Errors of the call: errors of `make_device_batch` for rows and transform; null_span (tokens); engine_failed. A row's
//! error is in its `why`.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status argmax(exec::cuda how, const device_rows<Scalar>& rows,
                                              const device_transform& transform, device_argmax* tokens) noexcept {
  if (const status why = device_detail::check(rows, transform); !why.ok()) return why;
  if (tokens == nullptr) return device_detail::refusal(errc::null_span);
  return cuda_detail::enqueue(how, {rows.count, cuda_detail::threads_for_rows(how.tuning, rows.size, rows.count)},
                              &cuda_detail::argmax_kernel<Scalar>, rows, transform, tokens);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
