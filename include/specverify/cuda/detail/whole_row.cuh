// SPDX-License-Identifier: Apache-2.0
//! Reads a whole row with one thread block to compute the largest logit, the exact sum Z or the total weight W.
#ifndef SPECVERIFY_CUDA_DETAIL_WHOLE_ROW_CUH
#define SPECVERIFY_CUDA_DETAIL_WHOLE_ROW_CUH

#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/detail/total.cuh>
#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

inline constexpr std::uint32_t row_threads = 256;  // maximum
inline constexpr std::uint32_t per_term = 4;       // threads that share a term of an exact sum, 256 ids
inline constexpr std::uint32_t row_in_flight = 6;  // loads in flight per thread
// loads in flight in sums that compute an exponential in double per logit
inline constexpr std::uint32_t sum_in_flight = 4;

struct top_room {
  best_entry best[most_warps];
  std::uint32_t least;
};

//! The largest logit of a row, or the row's error.
struct row_top {
  status why;
  float maximum;
  std::uint32_t id;
};

//! The CPU's checks of a row's transform, in the same order, for functions that need the whole row's distribution.
[[nodiscard]] __device__ __forceinline__ status check_whole(const device_transform& transform,
                                                            std::uint32_t row) noexcept {
  if (!is_temperature(temperature_of(transform, row))) return {errc::invalid_temperature, part::row, 0};
  if (transform.truncations == nullptr) return {};
  const row_truncation& cut = transform.truncations[row];
  if (!cut.valid()) return {errc::invalid_truncation, part::row, 0};
  return cut.active() ? status{errc::unsupported, part::row, 0} : status{};
}

//! Finds the largest logit by one read, with ids in runs of four.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ row_top find_top(const kernel::row_source<Scalar>& row,
                                                          top_room& room) noexcept {
  best_entry mine{kernel::negative_infinity<float>(), 0};
  float nan = mine.value;  // NaN if there is one, otherwise the largest
  read_in_groups<row_in_flight>(row, [&](float value, std::uint32_t id) {
    nan = larger_or_nan(nan, value);
    const bool is_best = value > mine.value;
    mine = {is_best ? value : mine.value, is_best ? id : mine.id};
  });
  const bool refused = __syncthreads_or(kernel::is_nan(nan)) != 0;
  const best_entry best = best_of_block(mine, room.best);
  if (refused || !kernel::is_finite(best.value)) return {find_error(row, &room.least), best.value, best.id};
  return {status{}, best.value, best.id};
}

struct sum_room {
  double lanes[row_threads * per_load];
  double terms[row_threads / per_term];
  double sum;
};

//! Computes kernel::exact_sum: four threads add the 16 lanes of a term, ascending; one joins them; one thread adds the
//! terms in order. One read. Every thread gets the sum.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ double exact_sum(const kernel::row_source<Scalar>& row,
                                                          const kernel::exact_weight& weight, sum_room& room) noexcept {
  const bool aligned = is_aligned(row.data);
  const std::uint32_t groups = blockDim.x / per_term, mine = threadIdx.x / per_term;
  const std::uint32_t terms = kernel::block_count(row.size, kernel::exact_size);
  constexpr std::uint32_t stride = kernel::lane_count * sum_in_flight;
  static_assert(kernel::exact_size % stride == 0, "a term is whole groups");
  double sum = 0;
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t first = 0; first < terms; first += groups) {
    const std::uint32_t from = (first + mine) * kernel::exact_size;
    const std::uint32_t left = from < row.size ? row.size - from : 0;
    std::uint32_t bias = row.bias_count == 0 || left == 0 ? 0 : row.bias_from(from);
    double lanes[per_load] = {0, 0, 0, 0};
    SPECVERIFY_UNROLL(1)
    for (std::uint32_t at = threadIdx.x % per_term * per_load; at < kernel::exact_size && at < left; at += stride) {
      const logit_group<sum_in_flight> group =
          load_group<sum_in_flight>(row, aligned, from + at, kernel::lane_count, bias);
      SPECVERIFY_UNROLL(8)
      for (std::uint32_t k = 0; k < sum_in_flight; ++k) {  // 0 is added after the end of the row
        SPECVERIFY_UNROLL(4)
        for (std::uint32_t i = 0; i < per_load; ++i)
          lanes[i] = __dadd_rn(lanes[i], weight(static_cast<double>(group.at[k].at[i])));
      }
    }
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) room.lanes[threadIdx.x * per_load + i] = lanes[i];
    __syncwarp();
    if (threadIdx.x % per_term == 0) room.terms[mine] = kernel::lane_tree(room.lanes + mine * kernel::lane_count);
    __syncthreads();
    if (threadIdx.x == 0) {
      const std::uint32_t count = terms - first < groups ? terms - first : groups;
      for (std::uint32_t t = 0; t < count; ++t) sum = __dadd_rn(sum, room.terms[t]);
      room.sum = sum;
    }
    __syncthreads();
  }
  return room.sum;
}

//! Returns the number of threads for a kernel that reads rows of this size in runs of four ids.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_for_row(std::uint32_t size) noexcept {
  const std::uint32_t loads = (size + per_load - 1) / per_load;
  return loads < row_threads ? (loads + lanes_per_warp - 1) / lanes_per_warp * lanes_per_warp : row_threads;
}

//! Checks the arguments at the beginning of every function of a whole row, without reading rows.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check_whole_rows(const device_rows<Scalar>& rows,
                                                        const device_transform& transform) noexcept {
  if (const status why = device_detail::check(rows, transform); !why.ok()) return why;
  return transform.truncations == nullptr && transform.truncation.active() ? device_detail::refusal(errc::unsupported)
                                                                           : status{};
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END
#include <specverify/core/foreign_macros_on.def>

#endif
