// SPDX-License-Identifier: Apache-2.0
//! Converts the distributions of a batch of rows to fp16 values on a GPU. A value is an id and a count in units of
//! 2^-24 (row/fp16_row.hpp).
//!
//! Use it after `read_rows` (digest.cuh), on the same batch, if a drafter sends half-precision distributions.
//! Guarantees: ids and counts equal the results of exec::seq, for any flags of nvcc except -ftz=true. A truncated row
//!             is not read, because the digest stores its kept entries. Any other row is read once if the digest has
//!             the normalizer (device_request::exact_normaliser), otherwise twice. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/support_test.cpp
#ifndef SPECVERIFY_CUDA_FP16_COUNTS_CUH
#define SPECVERIFY_CUDA_FP16_COUNTS_CUH

#include <specverify/cuda/detail/compact.cuh>
#include <specverify/cuda/detail/totals.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/kernel/scalar/half_count.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

struct counts_room {
  sum_room sum;
  std::uint64_t sums[most_warps];
  std::uint32_t per_warp[2][most_warps];
};

//! Computes the counts of a run of a row.
template <class Scalar>
struct row_counts {
  row_runs<Scalar> runs;
  kernel::exact_weight weight;
  double inverse;

  [[nodiscard]] __device__ __forceinline__ run_values operator()(std::uint32_t id) noexcept {
    const logit_group<compact_loads> group = runs(id);
    return run_of(group, [this](float value) { return half_count(weight(static_cast<double>(value)) * inverse); });
  }
};

//! Computes the counts of a run of a truncated row's kept ids.
struct kept_counts {
  const double* weights;
  std::uint32_t size;
  double inverse;

  [[nodiscard]] __device__ __forceinline__ run_values operator()(std::uint32_t index) const noexcept {
    run_values found;
    visit_run(found, index, [this](std::uint32_t& count, std::uint32_t i) {
      count = i < size ? half_count(weights[i] * inverse) : 0;
    });
    return found;
  }
};

//! Writes the counts of one distribution, up to the capacity.
struct count_writer {
  const token_id* of_index;  // null: an index is an id
  token_id* ids;
  std::uint32_t* counts;
  std::size_t room;
  std::uint64_t sum;

  __device__ __forceinline__ void operator()(std::uint32_t place, std::uint32_t index, std::uint32_t count) noexcept {
    sum += count;
    if (place >= room) return;
    ids[place] = of_index == nullptr ? static_cast<token_id>(index) : of_index[index];
    counts[place] = count;
  }
};

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ device_law count_row(const device_batch<Scalar>& batch,
                                                              const device_digest& digest, count_writer write,
                                                              counts_room& room) noexcept {
  constexpr entry_cut all{0, 0};
  device_law law;
  if (digest.truncated) {
    const std::size_t first = std::size_t{blockIdx.x} * batch.digests.kept_capacity;
    write.of_index = batch.digests.kept_ids + first;
    kept_counts counts{batch.digests.kept_weights + first, digest.kept, 1.0 / digest.normaliser};
    law.size = compact(digest.kept, all, counts, write, room.per_warp);
  } else {
    const kernel::row_source<Scalar> row = open_row(batch.rows, batch.transform, blockIdx.x);
    const kernel::exact_weight weight = exact_of(digest);
    const double normaliser = digest.normaliser > 0.0 ? digest.normaliser : exact_sum(row, weight, room.sum);
    row_counts<Scalar> counts{row_runs<Scalar>(row), weight, 1.0 / normaliser};
    law.size = compact(row.size, all, counts, write, room.per_warp);
  }
  law.resolution = static_cast<std::uint32_t>(sum_of_block(write.sum, room.sums));
  if (law.size > write.room) law.why = {errc::support_too_large, part::row, law.size};
  if (law.size == 0) law.why = {errc::empty_support, part::row, 0};
  return law;
}

template <class Scalar>
__global__ void __launch_bounds__(row_threads, 2) counts_kernel(device_batch<Scalar> batch, device_laws out) {
  __shared__ counts_room room;
  const device_digest& digest = batch.digests.rows[blockIdx.x];
  const std::size_t first = blockIdx.x * out.pitch;
  device_law law;
  law.why = digest.of_whole_row();
  if (law.why.ok() && digest.one_hot) {
    law.size = 1;
    law.resolution = half_count(1.0);
    if (threadIdx.x == 0) out.ids[first] = digest.argmax;
    if (threadIdx.x == 0) out.counts[first] = law.resolution;
  }
  if (law.why.ok() && !digest.one_hot)
    law = count_row(batch, digest, {nullptr, out.ids + first, out.counts + first, out.pitch, 0}, room);
  if (threadIdx.x == 0) out.rows[blockIdx.x] = law;
}

}  // namespace cuda_detail

//! Enqueues the fp16 distributions of all rows, from the digests of `read_rows`.
//! Errors of the call: as for `read_rows`; null_span; output_too_small (pitch 0; `where` = 1).
//! Errors of a row: the digest's error; support_too_large (`where` = ids needed), empty_support.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status fp16_counts(exec::cuda how, const device_batch<Scalar>& batch,
                                                   const device_laws& out) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (out.rows == nullptr || out.ids == nullptr || out.counts == nullptr)
    return device_detail::refusal(errc::null_span);
  if (out.pitch == 0) return device_detail::refusal(errc::output_too_small, 1);
  return cuda_detail::enqueue(how, {batch.rows.count, cuda_detail::threads_for_row(batch.rows.size)},
                              &cuda_detail::counts_kernel<Scalar>, batch, out);
}

SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
