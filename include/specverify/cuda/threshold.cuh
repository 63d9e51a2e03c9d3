// SPDX-License-Identifier: Apache-2.0
//! Selects all tokens with a probability of at least beta in each row of a batch on a GPU, as `threshold` does on the
//! CPU.
//!
//! Use it after `read_rows` (digest.cuh), on the same batch.
//! Symbols:    beta = minimum_probability, W = total of the integer weights.
//! Guarantees: ids and weights equal the results of exec::seq (sparsify/threshold.hpp). If beta exceeds every
//!             probability, the first id of the largest weight is kept. One read per row if the digest has W
//!             (device_request::integer_total), otherwise two; a truncated row reads only the kept ids. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/support_test.cpp
#ifndef SPECVERIFY_CUDA_THRESHOLD_CUH
#define SPECVERIFY_CUDA_THRESHOLD_CUH

#include <specverify/cuda/detail/compact.cuh>
#include <specverify/cuda/detail/totals.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/row/detail/share.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

struct above_room {
  std::uint64_t sums[most_warps];
  std::uint32_t per_warp[2][most_warps];
};

//! Integer weights of a truncated row's kept ids.
template <class Scalar>
struct kept_row_weights {
  kernel::row_source<Scalar> row;
  kernel::integer_weight weight;
  const token_id* ids;
  std::uint32_t size;

  [[nodiscard]] __device__ __forceinline__ run_values operator()(std::uint32_t index) const noexcept {
    run_values found;
    visit_run(found, index, [this](std::uint32_t& value, std::uint32_t i) {
      value = i < size ? weight(static_cast<double>(row.value(static_cast<std::uint32_t>(ids[i])))) : 0;
    });
    return found;
  }
};

//! Wraps other values and counts the positive values.
template <class Values>
struct counted_values {
  Values values;
  std::uint64_t positive;

  [[nodiscard]] __device__ __forceinline__ run_values operator()(std::uint32_t index) noexcept {
    const run_values found = values(index);
    visit_run(found, index, [this](std::uint32_t value, std::uint32_t) { positive += value > 0 ? 1u : 0u; });
    return found;
  }
};

//! Writes the entries of one support, up to the capacity.
struct entry_writer {
  const token_id* of_index;  // null: an index is an id
  token_id* ids;
  std::uint32_t* weights;
  std::size_t room;

  __device__ __forceinline__ void operator()(std::uint32_t place, std::uint32_t index,
                                             std::uint32_t weight) const noexcept {
    if (place >= room) return;
    ids[place] = of_index == nullptr ? static_cast<token_id>(index) : of_index[index];
    weights[place] = weight;
  }
};

//! Keeps the entries with a weight of at least `least`, or if there are none, the first entry of the largest weight.
template <class Values>
[[nodiscard]] __device__ __forceinline__ device_support keep_above(std::uint32_t size, std::uint64_t least,
                                                                   std::uint64_t total, const Values& values,
                                                                   const entry_writer& write,
                                                                   above_room& room) noexcept {
  const entry_cut cut = least > kernel::weight_one ? entry_cut{kernel::weight_one, 1}
                                                   : entry_cut{static_cast<std::uint32_t>(least) - 1, 0};
  counted_values<Values> counted{values, 0};
  device_support support;
  support.size = compact(size, cut, counted, write, room.per_warp);
  support.complete = sum_of_block(counted.positive, room.sums) == support.size;
  support.total_weight = total;
  if (support.size > write.room) support.why = {errc::support_too_large, part::row, support.size};
  return support;
}

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_support select_above_row(const device_batch<Scalar>& batch,
                                                                         const device_digest& digest, double beta,
                                                                         entry_writer write,
                                                                         above_room& room) noexcept {
  const kernel::row_source<Scalar> row = open_row(batch.rows, batch.transform, blockIdx.x);
  const kernel::integer_weight weight = weight_of(digest);
  if (digest.truncated) {
    write.of_index = batch.digests.kept_ids + std::size_t{blockIdx.x} * batch.digests.kept_capacity;
    const kept_row_weights<Scalar> values{row, weight, write.of_index, digest.kept};
    const std::uint64_t least = detail::least_above(beta, digest.total_weight, row.size);
    return keep_above(digest.kept, least, digest.total_weight, values, write, room);
  }
  const std::uint64_t total = digest.total_weight > 0 ? digest.total_weight : integer_total(row, weight, room.sums);
  const row_weights<Scalar> values(row, weight, least_logit(weight.maximum, digest.temperature, 0));
  return keep_above(row.size, detail::least_above(beta, total, row.size), total, values, write, room);
}

template <class Scalar>
__global__ void __launch_bounds__(row_threads, 2)
    above_kernel(device_batch<Scalar> batch, double beta, device_supports out) {
  __shared__ above_room room;
  const device_digest& digest = batch.digests.rows[blockIdx.x];
  const std::size_t first = blockIdx.x * out.pitch;
  device_support support;
  support.why = digest.of_whole_row();
  if (support.why.ok() && digest.one_hot) {
    support.size = 1;
    support.complete = true;
    support.total_weight = kernel::weight_one;
    if (threadIdx.x == 0) out.ids[first] = digest.argmax;
    if (threadIdx.x == 0) out.weights[first] = kernel::weight_one;
  }
  if (support.why.ok() && !digest.one_hot)
    support = select_above_row(batch, digest, beta, {nullptr, out.ids + first, out.weights + first, out.pitch}, room);
  if (threadIdx.x == 0) out.rows[blockIdx.x] = support;
}

}  // namespace cuda_detail

//! Enqueues a selection of the tokens of probability `minimum_probability` or more in each row, from the digests of
//! `read_rows`. If `minimum_probability` is 0 or below, it selects all tokens of positive weight.
//! Errors of the call: as for `read_rows`; invalid_argument (a NaN); null_span; output_too_small (pitch 0; `where` =
//! 1).
//! Errors of a row: the digest's error; support_too_large (`where` = entries).
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status select_above(exec::cuda how, const device_batch<Scalar>& batch,
                                                    double minimum_probability,
                                                    const device_supports& supports) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (numeric::is_nan(minimum_probability)) return device_detail::refusal(errc::invalid_argument);
  if (supports.rows == nullptr || supports.ids == nullptr || supports.weights == nullptr)
    return device_detail::refusal(errc::null_span);
  if (supports.pitch == 0) return device_detail::refusal(errc::output_too_small, 1);
  return cuda_detail::enqueue(how, {batch.rows.count, cuda_detail::threads_for_row(batch.rows.size)},
                              &cuda_detail::above_kernel<Scalar>, batch, minimum_probability, supports);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
