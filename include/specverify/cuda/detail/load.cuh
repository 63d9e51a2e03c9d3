// SPDX-License-Identifier: Apache-2.0
//! How threads read a row: four neighbouring logits at a time, with bias and mask applied; and why a row is refused.
#ifndef SPECVERIFY_CUDA_DETAIL_LOAD_CUH
#define SPECVERIFY_CUDA_DETAIL_LOAD_CUH

#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/device/batch.hpp>
#include <specverify/kernel/block_source.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Ids that one load of a thread takes: 16 bytes of floats, 8 of 16-bit logits.
inline constexpr std::uint32_t per_load = 4;
//! Threads that share the lanes of a block of 1024 ids.
inline constexpr std::uint32_t per_block = kernel::lane_count / per_load;

inline constexpr std::uint32_t most_row_threads = 1024;  // of a kernel that reads a row in runs of four ids

//! Threads of such a kernel, a thread block a row: `most` where a multiprocessor has one row to read, and a quarter of
//! all that it takes where it has several, which then wait at different times.
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

//! Whether four entries of a row lie where one load takes them.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ bool is_aligned(const Scalar* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data) % (per_load * sizeof(Scalar)) == 0;
}

[[nodiscard]] __device__ __forceinline__ four_logits load_aligned(const float* data) noexcept {
  const float4 all = __ldg(reinterpret_cast<const float4*>(data));
  return {{all.x, all.y, all.z, all.w}};
}
[[nodiscard]] __device__ __forceinline__ four_logits load_aligned(const bfloat16_bits* data) noexcept {
  const uint2 all = __ldg(reinterpret_cast<const uint2*>(data));  // two logits a word, the first one below
  return {{numeric::bits_as<float>(all.x << 16), numeric::bits_as<float>(all.x & 0xFFFF0000u),
           numeric::bits_as<float>(all.y << 16), numeric::bits_as<float>(all.y & 0xFFFF0000u)}};
}
[[nodiscard]] __device__ __forceinline__ four_logits load_aligned(const float16_bits* data) noexcept {
  const ushort4 all = __ldg(reinterpret_cast<const ushort4*>(data));
  return {{kernel::to_working(float16_bits{all.x}), kernel::to_working(float16_bits{all.y}),
           kernel::to_working(float16_bits{all.z}), kernel::to_working(float16_bits{all.w})}};
}

//! Whether the ids from `id` on, a multiple of 4, are allowed: a bit each, the least is that of `id`. Of the words'
//! bytes, since a thread keeps many of them.
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

//! Four logits one by one, without bias: at the end of a row, -infinity behind it, and where no wide load can be.
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

//! Adds the biases of the ids from `id` on. `bias`: the first one that may be meant; calls come with ascending ids.
template <class Scalar>
__device__ __forceinline__ void add_biases(const kernel::row_source<Scalar>& row, std::uint32_t id, std::uint32_t& bias,
                                           four_logits& found) noexcept {
  SPECVERIFY_UNROLL(1)
  for (; bias < row.bias_count && static_cast<std::uint32_t>(row.bias_ids[bias]) < id + per_load; ++bias) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)  // no index that is not known: the four stay in registers
      if (static_cast<std::uint32_t>(row.bias_ids[bias]) == id + i) found.at[i] += row.bias_values[bias];
  }
  if (row.mask != nullptr && id < row.size) forbid(allowed_from(row, id), found);  // whatever the bias
}

//! The ids that a thread takes together: four from each of `Loads` places.
template <std::uint32_t Loads>
struct logit_group {
  four_logits at[Loads];
};

//! The stored logits of four ids at each of id, id + stride, ... inside an aligned row, those forbidden -infinity.
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

//! The logits of four ids at each of id, id + stride, ...; multiples of 4. All loads are under way before one of them
//! is waited for: nothing between them is a branch. Those behind the end of the row are -infinity. `bias` as in
//! add_biases.
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

//! The logits of the ids from `id` on.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ four_logits load_four(const kernel::row_source<Scalar>& row, bool aligned,
                                                               std::uint32_t id, std::uint32_t& bias) noexcept {
  return load_group<1>(row, aligned, id, 0, bias).at[0];
}

//! Asks for the line of an id, where it is inside the row, so that it lies in the second-level cache when it is loaded.
template <class Scalar>
__device__ __forceinline__ void ask_for_line(const kernel::row_source<Scalar>& row, std::uint32_t id) noexcept {
#if defined(__CUDA_ARCH__)
  if (id < row.size) asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(row.data + id)));
#else
  static_cast<void>(row);  // no byte is loaded
  static_cast<void>(id);
#endif
}

//! add(logit, id) for the four ids at each place of a group.
template <std::uint32_t Loads, class Add>
__device__ __forceinline__ void add_group(const logit_group<Loads>& group, std::uint32_t id, std::uint32_t stride,
                                          const Add& add) noexcept {
  SPECVERIFY_UNROLL(32)
  for (std::uint32_t k = 0; k < Loads; ++k) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i) add(group.at[k].at[i], id + k * stride + i);
  }
}

//! add(logit, id) for the ids of a row that are this thread's: four of every 4 * blockDim.x, in ascending order, and
//! -infinity for those behind the end. `Loads` are under way together.
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

//! Why a row is refused: the least NaN, else the least +infinity, else that nothing is finite. Read again, since it is
//! rare.
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
