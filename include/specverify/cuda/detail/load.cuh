// SPDX-License-Identifier: Apache-2.0
//! How threads read a row: four neighbouring logits at a time, with bias and mask applied; and why a row is refused.
#ifndef SPECVERIFY_CUDA_DETAIL_LOAD_CUH
#define SPECVERIFY_CUDA_DETAIL_LOAD_CUH

#include <specverify/cuda/detail/threads.cuh>
#include <specverify/device/batch.hpp>
#include <specverify/kernel/block_source.hpp>

SPECVERIFY_TYPES_BEGIN
namespace cuda_detail {

//! Ids that one load of a thread takes: 16 bytes of floats, 8 of 16-bit logits.
inline constexpr std::uint32_t per_load = 4;

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
template <class Half>
[[nodiscard]] __device__ __forceinline__ four_logits load_aligned(const Half* data) noexcept {
  const ushort4 all = __ldg(reinterpret_cast<const ushort4*>(data));
  return {{kernel::to_working(Half{all.x}), kernel::to_working(Half{all.y}), kernel::to_working(Half{all.z}),
           kernel::to_working(Half{all.w})}};
}

//! The stored logits of the ids from `id` on, a multiple of 4; -infinity behind the end of the row.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ four_logits load_stored(const kernel::row_source<Scalar>& row, bool aligned,
                                                                 std::uint32_t id) noexcept {
  if (aligned && id + per_load <= row.size) return load_aligned(row.data + id);
  four_logits found;
  SPECVERIFY_UNROLL(4)
  for (std::uint32_t i = 0; i < per_load; ++i)
    found.at[i] = id + i < row.size ? row.stored(id + i) : kernel::negative_infinity<float>();
  return found;
}

//! The logits of the ids from `id` on. `bias`: where the biases of the block stand; calls come with ascending ids.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ four_logits load_four(const kernel::row_source<Scalar>& row, bool aligned,
                                                               std::uint32_t id, std::uint32_t& bias) noexcept {
  four_logits found = load_stored(row, aligned, id);
  SPECVERIFY_UNROLL(1)
  for (; bias < row.bias_count && static_cast<std::uint32_t>(row.bias_ids[bias]) < id + per_load; ++bias) {
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)  // no index that is not known: the four stay in registers
      if (static_cast<std::uint32_t>(row.bias_ids[bias]) == id + i) found.at[i] += row.bias_values[bias];
  }
  if (row.mask != nullptr && id < row.size) {
    const std::uint64_t allowed = row.mask[id / 64] >> (id % 64);
    SPECVERIFY_UNROLL(4)
    for (std::uint32_t i = 0; i < per_load; ++i)
      if ((allowed >> i & 1u) == 0) found.at[i] = kernel::negative_infinity<float>();
  }
  return found;
}

//! Why a row is refused: the least NaN, else the least +infinity, else that nothing is finite. Read again, since it is
//! rare.
template <class Scalar>
[[nodiscard]] __device__ __forceinline__ status find_error(const kernel::row_source<Scalar>& row,
                                                           std::uint32_t* room) noexcept {
  std::uint32_t nan = no_id, infinite = no_id;
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
