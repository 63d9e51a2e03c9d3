// SPDX-License-Identifier: Apache-2.0
//! Loads the logits of a row, four neighbouring logits per thread at a time, and applies bias and mask. Also detects
//! errors in the row.
#ifndef SPECVERIFY_CUDA_DETAIL_LOAD_CUH
#define SPECVERIFY_CUDA_DETAIL_LOAD_CUH

#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/device/batch.hpp>
#include <specverify/kernel/block_source.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Ids per load of a thread: 16 bytes of floats, or 8 bytes of 16-bit logits.
inline constexpr std::uint32_t per_load = 4;
//! Number of threads that share the lanes of a block of 1024 ids.
inline constexpr std::uint32_t per_block = kernel::lane_count / per_load;

inline constexpr std::uint32_t most_row_threads = 1024;  // maximum for a kernel that reads a row in runs of four ids

//! Returns the number of threads per block for such a kernel, which has one thread block per row. The maximum is `most`
//! if each multiprocessor reads at most one row. Otherwise it is a quarter of most_row_threads, because small thread
//! blocks wait at different times.
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t threads_for_rows(const cuda_tuning& tuning, std::uint32_t size,
                                                               std::uint32_t rows,
                                                               std::uint32_t most = most_row_threads) noexcept {
  return threads_for((size + per_load - 1) / per_load, rows <= tuning.multiprocessors ? most : most_row_threads / 4);
}

struct four_logits {
  float at[per_load];
};

template <class Scalar>
[[nodiscard]] __device__ __forceinline__ kernel::row_source<Scalar> open_row(const device_rows<Scalar>& rows,
                                                                             const device_transform& transform,
                                                                             std::uint32_t row) noexcept {
  kernel::row_source<Scalar> source;
  source.data = rows.data + row * rows.pitch;
  source.size = rows.size;
  source.mask = transform.mask_words == nullptr ? nullptr : transform.mask_words + row * transform.mask_pitch;
  if (transform.bias_begin != nullptr) {
    const std::uint32_t begin = transform.bias_begin[row];
    source.bias_ids = transform.bias_ids + begin;
    source.bias_values = transform.bias_values + begin;
    source.bias_count = transform.bias_begin[row + 1] - begin;
  }
  return source;
}

[[nodiscard]] __device__ __forceinline__ double temperature_of(const device_transform& transform,
                                                               std::uint32_t row) noexcept {
  return transform.temperatures == nullptr ? transform.temperature : transform.temperatures[row];
}
[[nodiscard]] __device__ __forceinline__ bool is_greedy(double temperature) noexcept { return temperature < 1e-6; }
[[nodiscard]] __device__ __forceinline__ bool is_temperature(double value) noexcept {
  return numeric::is_finite(value) && value >= 0.0 && value <= max_temperature;
}

//! Returns whether four entries of a row are aligned for one load.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ bool is_aligned(const Scalar* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data) % (per_load * sizeof(Scalar)) == 0;
}

[[nodiscard]] __device__ __forceinline__ four_logits load_aligned(const float* data) noexcept {
  const float4 all = __ldg(reinterpret_cast<const float4*>(data));
  return {{all.x, all.y, all.z, all.w}};
}
[[nodiscard]] __device__ __forceinline__ four_logits load_aligned(const bfloat16_bits* data) noexcept {
  const uint2 all = __ldg(reinterpret_cast<const uint2*>(data));  // two logits per word, the first one in the low half
  return {{numeric::bits_as<float>(all.x << 16), numeric::bits_as<float>(all.x & 0xFFFF0000u),
           numeric::bits_as<float>(all.y << 16), numeric::bits_as<float>(all.y & 0xFFFF0000u)}};
}
[[nodiscard]] __device__ __forceinline__ four_logits load_aligned(const float16_bits* data) noexcept {
  const ushort4 all = __ldg(reinterpret_cast<const ushort4*>(data));
  return {{kernel::to_working(float16_bits{all.x}), kernel::to_working(float16_bits{all.y}),
           kernel::to_working(float16_bits{all.z}), kernel::to_working(float16_bits{all.w})}};
}

//! Returns whether the four ids starting at `id` are allowed, one bit per id; `id`, a multiple of 4, has the lowest
//! bit. It reads bytes instead of words, because a thread keeps many of them.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ std::uint32_t allowed_from(const kernel::row_source<Scalar>& row,
                                                                    std::uint32_t id) noexcept {
  return static_cast<std::uint32_t>(__ldg(reinterpret_cast<const unsigned char*>(row.mask) + id / 8)) >> (id % 8);
}
__device__ __forceinline__ void forbid(std::uint32_t allowed, four_logits& found) noexcept {
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t i = 0; i < per_load; ++i)
    if ((allowed >> i & 1u) == 0) found.at[i] = kernel::negative_infinity<float>();
}

//! Loads four logits one by one, without bias, for the end of a row (-infinity after it) and for rows that are not
//! aligned.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ four_logits load_each(const kernel::row_source<Scalar>& row,
                                                               std::uint32_t id) noexcept {
  four_logits found;
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t i = 0; i < per_load; ++i)
    found.at[i] = id + i < row.size ? row.stored(id + i) : kernel::negative_infinity<float>();
  if (row.mask != nullptr && id < row.size) forbid(allowed_from(row, id), found);
  return found;
}

//! Adds biases for ids starting at `id`. `bias` is the first candidate; calls must use ascending ids.
template <class Scalar>
__device__ __forceinline__ void add_biases(const kernel::row_source<Scalar>& row, std::uint32_t id, std::uint32_t& bias,
                                           four_logits& found) noexcept {
  SPECVERIFY_UNROLL(1)
  for (; bias < row.bias_count && static_cast<std::uint32_t>(row.bias_ids[bias]) < id + per_load; ++bias) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)  // no variable index, so the four stay in registers
      if (static_cast<std::uint32_t>(row.bias_ids[bias]) == id + i) found.at[i] += row.bias_values[bias];
  }
  if (row.mask != nullptr && id < row.size) forbid(allowed_from(row, id), found);  // regardless of the bias
}

//! Ids that a thread loads together: four at each of `Loads` addresses.
template <std::uint32_t Loads>
struct logit_group {
  four_logits at[Loads];
};

//! Loads the stored logits of four ids at each of id, id + stride, ..., inside an aligned row. Forbidden ids get
//! -infinity.
template <std::uint32_t Loads, class Scalar>
__device__ __forceinline__ void load_wide(const kernel::row_source<Scalar>& row, std::uint32_t id, std::uint32_t stride,
                                          logit_group<Loads>& found) noexcept {
  if (row.mask == nullptr) {
    SPECVERIFY_UNROLL(32)
    for (std::uint32_t k = 0; k < Loads; ++k) found.at[k] = load_aligned(row.data + id + k * stride);
    return;
  }
  std::uint32_t allowed[Loads];
  SPECVERIFY_UNROLL(32)
  for (std::uint32_t k = 0; k < Loads; ++k) {
    allowed[k] = allowed_from(row, id + k * stride);
    found.at[k] = load_aligned(row.data + id + k * stride);
  }
  SPECVERIFY_UNROLL(32)
  for (std::uint32_t k = 0; k < Loads; ++k) forbid(allowed[k], found.at[k]);
}

//! Loads the logits of four ids at each of id, id + stride, ..., which must be multiples of 4. All loads are in flight
//! before the code waits for one, because there is no branch between them. Ids after the end of the row get -infinity.
template <std::uint32_t Loads, class Scalar>
[[nodiscard]] __device__ __forceinline__ logit_group<Loads> load_group(const kernel::row_source<Scalar>& row,
                                                                       bool aligned, std::uint32_t id,
                                                                       std::uint32_t stride,
                                                                       std::uint32_t& bias) noexcept {
  logit_group<Loads> found;
  const std::uint32_t end = id + (Loads - 1) * stride + per_load;
  if (aligned && end <= row.size) {
    load_wide(row, id, stride, found);
  } else {
    SPECVERIFY_UNROLL(32)
    for (std::uint32_t k = 0; k < Loads; ++k) found.at[k] = load_each(row, id + k * stride);
  }
  if (bias < row.bias_count && static_cast<std::uint32_t>(row.bias_ids[bias]) < end) {
    SPECVERIFY_UNROLL(32)
    for (std::uint32_t k = 0; k < Loads; ++k) add_biases(row, id + k * stride, bias, found.at[k]);
  }
  return found;
}

//! Loads the logits of the ids starting at `id`.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ four_logits load_four(const kernel::row_source<Scalar>& row, bool aligned,
                                                               std::uint32_t id, std::uint32_t& bias) noexcept {
  return load_group<1>(row, aligned, id, 0, bias).at[0];
}

//! Prefetches the line of an id into the second-level cache, if the id is inside the row.
template <class Scalar>
__device__ __forceinline__ void ask_for_line(const kernel::row_source<Scalar>& row, std::uint32_t id) noexcept {
#if defined(__CUDA_ARCH__)
  if (id < row.size) asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(row.data + id)));
#else
  static_cast<void>(row);  // no byte is loaded
  static_cast<void>(id);
#endif
}

//! Calls add(logit, id) for the four ids at each address of a group.
template <std::uint32_t Loads, class Add>
__device__ __forceinline__ void add_group(const logit_group<Loads>& group, std::uint32_t id, std::uint32_t stride,
                                          const Add& add) noexcept {
  SPECVERIFY_UNROLL(32)
  for (std::uint32_t k = 0; k < Loads; ++k) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) add(group.at[k].at[i], id + k * stride + i);
  }
}

//! Calls add(logit, id) for this thread's ids of a row: four of every 4 * blockDim.x, in ascending order, and -infinity
//! after the end. `Loads` loads are in flight together.
template <std::uint32_t Loads, class Scalar, class Add>
__device__ __forceinline__ void read_in_groups(const kernel::row_source<Scalar>& row, const Add& add) noexcept {
  const bool aligned = is_aligned(row.data);
  const std::uint32_t stride = blockDim.x * per_load;
  std::uint32_t id = threadIdx.x * per_load;
  std::uint32_t bias = row.bias_count == 0 ? 0 : row.bias_from(id);
  SPECVERIFY_UNROLL(1)
  for (; id < row.size; id += Loads * stride)
    add_group(load_group<Loads>(row, aligned, id, stride, bias), id, stride, add);
}

//! Returns a row's error: the NaN of lowest index, otherwise the +infinity of lowest index, otherwise row_is_empty. It
//! reads the row again because errors are rare.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ status find_error(const kernel::row_source<Scalar>& row,
                                                           std::uint32_t* room) noexcept {
  std::uint32_t nan = no_id, infinite = no_id;
  SPECVERIFY_UNROLL(1)
  for (std::uint32_t id = threadIdx.x; id < row.size; id += blockDim.x) {
    const float value = row.value(id);
    if (nan == no_id && kernel::is_nan(value)) nan = id;
    if (infinite == no_id && kernel::is_positive_infinity(value)) infinite = id;
  }
  nan = least_of_block(nan, room);
  infinite = least_of_block(infinite, room);
  if (nan != no_id) return {errc::row_has_nan, part::row, nan};
  if (infinite != no_id) return {errc::row_has_positive_infinity, part::row, infinite};
  return {errc::row_is_empty, part::row, 0};
}

}  // namespace cuda_detail
SPECVERIFY_TYPES_END

#endif
