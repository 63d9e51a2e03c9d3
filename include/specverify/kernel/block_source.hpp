// SPDX-License-Identifier: Apache-2.0
//! Splits a row into runs of contiguous floats (or doubles, for a row of doubles), with bias and mask applied.
//!
//! A run of a plain row points into the row. If the row is strided, converted, biased, masked or padded, the run is a
//! copy in the caller's buffer. Therefore kernels need only one inner loop. A forbidden id has the value -infinity
//! (logits) or 0 (probabilities).
#ifndef SPECVERIFY_KERNEL_BLOCK_SOURCE_HPP
#define SPECVERIFY_KERNEL_BLOCK_SOURCE_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/kernel/row_access.hpp>
#include <specverify/kernel/scalar/exponential.hpp>

#include <cstdint>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

inline constexpr std::uint32_t block_size = 1024;  // ids per block: each block has its own lane sums
inline constexpr std::uint32_t lane_count = 16;    // lane j of a block sums the ids v with v mod 16 = j, ascending
inline constexpr std::uint32_t top_size = 256;     // ids per group that has one largest value per lane
inline constexpr std::uint32_t exact_size = 256;   // ids per block of an exact sum
inline constexpr std::uint32_t sampled_ids = 16;   // first ids of each block, which determine the reference

[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t block_count(std::uint32_t size,
                                                                std::uint32_t block = block_size) noexcept {
  return block == 0 ? 0 : size / block + (size % block != 0 ? 1 : 0);
}

//! Returns how many values of a block to read if `left` ids of the row remain: `left`, rounded up to whole groups of
//! `group` values, but at most block_size. `group` must divide block_size.
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t block_groups(std::uint32_t left, std::uint32_t group) noexcept {
  return left < block_size ? (left + group - 1) / group * group : block_size;
}

//! Returns how many values of a block to sum if `left` ids of the row remain: all, or `left` rounded up to whole groups
//! of lanes. Forbidden values pad the last group.
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t block_width(std::uint32_t left) noexcept {
  return block_groups(left, lane_count);
}

template <class Scalar>
using working = std::conditional_t<std::is_same_v<Scalar, double>, double, float>;

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float to_working(float value) noexcept { return value; }
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double to_working(double value) noexcept { return value; }
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float to_working(bfloat16_bits value) noexcept {
  return bits_as<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE float to_working(float16_bits value) noexcept {
#if defined(__CUDA_ARCH__)
  float found;  // exact under any compiler flags, because no half-precision value is a subnormal float
  asm("cvt.f32.f16 %0, %1;" : "=f"(found) : "h"(value.bits));
  return found;
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 31u;
  const std::uint32_t mantissa = value.bits & 1023u;
  // without branches, so that a loop can be vectorized; exact, because mantissa < 2^10
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(mantissa)) * 0x1.0p-24f;
  const std::uint32_t bias = exponent == 31 ? 224u : 112u;
  const std::uint32_t large = ((exponent + bias) << 23) | (mantissa << 13);
  return bits_as<float>((exponent == 0 ? bits_as<std::uint32_t>(subnormal) : large) | sign);
#endif
}

//! A row with bias and mask, ready for the kernels. Trivially copyable.
template <class Scalar>
struct row_source {
  using work = working<Scalar>;
  const Scalar* data = nullptr;
  const token_id* bias_ids = nullptr;
  const float* bias_values = nullptr;
  const std::uint64_t* mask = nullptr;  // null: every id is allowed
  std::uint32_t bias_count = 0;
  std::uint32_t size = 0;  // valid ids
  std::uint32_t stride = 1;
  bool probabilities = false;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE work forbidden() const noexcept {
    return probabilities ? work{0} : negative_infinity<work>();
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool allowed(std::uint32_t id) const noexcept {
    return mask == nullptr || ((mask[id / 64] >> (id % 64)) & 1u) != 0;
  }

  //! Returns the row itself if kernels can use it directly, otherwise null.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE const work* plain() const noexcept {
    if constexpr (std::is_same_v<Scalar, work>)
      return stride == 1 && mask == nullptr && bias_count == 0 ? data : nullptr;
    return nullptr;
  }

  //! Returns the stored values if they need at most a conversion, otherwise null.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE const Scalar* unchanged() const noexcept {
    return stride == 1 && mask == nullptr && bias_count == 0 ? data : nullptr;
  }

  //! Returns the index of the first bias whose id is not below `id`.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t bias_from(std::uint32_t id) const noexcept {
    return numeric::count_below(bias_ids, bias_count, static_cast<token_id>(id));
  }

  //! Returns the stored value of a token, without bias and mask.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE work stored(std::uint32_t id) const noexcept {
    return to_working(data[static_cast<std::size_t>(id) * stride]);
  }

  //! Returns the value of one token with bias and mask.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE work value(std::uint32_t id) const noexcept {
    if (!allowed(id)) return forbidden();
    work result = stored(id);
    const std::uint32_t at = bias_count == 0 ? 0 : bias_from(id);
    if (at < bias_count && static_cast<std::uint32_t>(bias_ids[at]) == id) result += static_cast<work>(bias_values[at]);
    return result;
  }
};

//! Implements `load` for a row with a bias, a mask, a stride or another type. Not inlined, so that all kernels share
//! one copy.
template <class Scalar>
[[nodiscard, gnu::noinline]] inline const working<Scalar>* load_prepared(const row_source<Scalar>& source,
                                                                         std::uint32_t first, std::uint32_t width,
                                                                         working<Scalar>* buffer) noexcept {
  using work = working<Scalar>;
  const std::uint32_t left = source.size > first ? source.size - first : 0;
  const std::uint32_t filled = left < width ? left : width;
  std::uint32_t at = source.bias_count == 0 ? 0 : source.bias_from(first);
  const bool biased = at < source.bias_count && static_cast<std::uint32_t>(source.bias_ids[at]) < first + filled;
  if constexpr (std::is_same_v<Scalar, work>) {
    if (filled == width && source.stride == 1 && source.mask == nullptr && !biased) return source.data + first;
  }
  const Scalar* from = source.data + static_cast<std::size_t>(first) * source.stride;
  if (source.stride == 1) {
    for (std::uint32_t i = 0; i < filled; ++i) buffer[i] = to_working(from[i]);
  } else {
    for (std::uint32_t i = 0; i < filled; ++i)
      buffer[i] = to_working(from[static_cast<std::size_t>(i) * source.stride]);
  }
  const work forbidden = source.forbidden();
  for (; biased && at < source.bias_count && static_cast<std::uint32_t>(source.bias_ids[at]) < first + filled; ++at) {
    buffer[static_cast<std::uint32_t>(source.bias_ids[at]) - first] += static_cast<work>(source.bias_values[at]);
  }
  if (source.mask != nullptr) {
    for (std::uint32_t i = 0; i < filled; ++i) {
      if (!source.allowed(first + i)) buffer[i] = forbidden;
    }
  }
  for (std::uint32_t i = filled; i < width; ++i) buffer[i] = forbidden;
  return buffer;
}

//! Returns the values of the ids first .. first + width - 1, padded with forbidden values after the end. Returns a
//! pointer into the row if the row itself has these values. `buffer` must have `width` elements.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE const working<Scalar>* load(const row_source<Scalar>& source, std::uint32_t first,
                                                            std::uint32_t width, working<Scalar>* buffer) noexcept {
  if constexpr (std::is_same_v<Scalar, working<Scalar>>) {
    const Scalar* const data = source.unchanged();
    if (data != nullptr && first <= source.size && width <= source.size - first) return data + first;
  }
  return load_prepared(source, first, width, buffer);
}

//! Sums 16 lanes pairwise in a fixed order: lane j + 8 to lane j, then j + 4, j + 2 and j + 1.
template <class Lane>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double lane_tree(const Lane* lanes) noexcept {
  double sum[8];
  for (int j = 0; j < 8; ++j) sum[j] = static_cast<double>(lanes[j]) + static_cast<double>(lanes[j + 8]);
  for (int j = 0; j < 4; ++j) sum[j] += sum[j + 4];
  for (int j = 0; j < 2; ++j) sum[j] += sum[j + 2];
  return sum[0] + sum[1];
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
