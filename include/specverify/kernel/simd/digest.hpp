// SPDX-License-Identifier: Apache-2.0
//! The coarse pass in vectors. Lane j of a block stays lane j, so lane sums have the bits of the scalar reference.
#ifndef SPECVERIFY_KERNEL_SIMD_DIGEST_HPP
#define SPECVERIFY_KERNEL_SIMD_DIGEST_HPP

#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/simd/argmax.hpp>

#if SPECVERIFY_WITH_XSIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! What one group of blocks adds to the extremes.
struct coarse_state {
  pack<std::int32_t> magnitude = pack<std::int32_t>(0);
  pack<float> smallest = pack<float>(0.0f);
};

[[nodiscard]] SPECVERIFY_INLINE pack<float> coarse_exponentials(const pack<float>& values, const pack<float>& reference,
                                                                const pack<float>& scale) noexcept {
  const pack<float> scaled = (values - reference) * scale;
  const pack<float> floor(static_cast<float>(coarse_minimum));
  return float_bits(truncated(larger(scaled, floor)) + pack<std::int32_t>(coarse_bias));
}

[[nodiscard]] SPECVERIFY_INLINE pack<float> coarse_probabilities(const pack<float>& values) noexcept {
  const pack<float> zero(0.0f);
  return xsimd::select(values > zero, larger(values, pack<float>(0x1.0p-126f)), zero);
}

//! The first `size` values, a multiple of 16, of `Blocks` neighbouring blocks at once: their sums are independent
//! chains of additions. Returns the largest value.
template <std::uint32_t Blocks, bool Probabilities>
[[nodiscard]] SPECVERIFY_INLINE float coarse_group(const float* const* values, std::uint32_t size,
                                                   const envelope<float>& weight, float forbidden, coarse_state& state,
                                                   float* lane_sums, double* block_sums) noexcept {
  constexpr std::uint32_t width = pack_size<float>;
  constexpr std::uint32_t rows = lane_count / width;
  const pack<float> reference(weight.reference), scale(weight.scale);
  pack<float> sums[Blocks * rows];
  for (auto& sum : sums) sum = pack<float>(0.0f);
  pack<float> top(forbidden);
  pack<std::int32_t> magnitude = state.magnitude;
  for (std::uint32_t i = 0; i < size; i += lane_count) {
    for (std::uint32_t b = 0; b < Blocks; ++b) {
      for (std::uint32_t r = 0; r < rows; ++r) {
        const pack<float> value = load_pack(values[b] + i + r * width);
        top = larger(top, value);
        magnitude = larger(magnitude, magnitude_bits(value));
        if constexpr (Probabilities) {
          state.smallest = smaller(state.smallest, value);
          sums[b * rows + r] += coarse_probabilities(value);
        } else {
          sums[b * rows + r] += coarse_exponentials(value, reference, scale);
        }
      }
    }
  }
  state.magnitude = magnitude;
  for (std::uint32_t b = 0; b < Blocks; ++b) {
    for (std::uint32_t r = 0; r < rows; ++r) store_pack(lane_sums + b * lane_count + r * width, sums[b * rows + r]);
    block_sums[b] = lane_tree(lane_sums + b * lane_count);
  }
  return largest_lane(top);
}

template <bool Probabilities, class Scalar>
[[nodiscard]] inline row_extremes<float> coarse_rows(const row_source<Scalar>& source, const envelope<float>& weight,
                                                     float* lane_sums, double* block_sums) noexcept {
  constexpr std::uint32_t group = pack_size<float> >= 4 ? pack_size<float> / 4 : 1;
  row_extremes<float> found;
  found.maximum = found.second = source.forbidden();
  std::uint32_t best_first = 0;
  coarse_state state;
  alignas(64) float buffer[group * block_size];
  const std::uint32_t blocks = block_count(source.size);
  for (std::uint32_t block = 0; block < blocks;) {
    const float* values[group];
    const std::uint32_t first = block * block_size;
    const std::uint32_t count = source.size - first >= group * block_size ? group : 1;
    const std::uint32_t size = block_width(source.size - first);
    for (std::uint32_t b = 0; b < count; ++b)
      values[b] = load(source, first + b * block_size, size, buffer + b * block_size);
    float* lanes = lane_sums + static_cast<std::size_t>(block) * lane_count;
    const float top = count == group ? coarse_group<group, Probabilities>(values, size, weight, source.forbidden(),
                                                                          state, lanes, block_sums + block)
                                     : coarse_group<1, Probabilities>(values, size, weight, source.forbidden(), state,
                                                                      lanes, block_sums + block);
    if (top > found.maximum) {
      found.maximum = top;
      best_first = block * block_size;
    }
    block += count;
  }
  found.has_nan = largest_lane(state.magnitude) > infinity_bits<float>;
  found.has_negative = Probabilities && -largest_lane(-state.smallest) < 0.0f;
  if (found.has_nan || !is_finite(found.maximum)) return found;
  for (std::uint32_t b = 0; b < group; ++b) {
    const std::uint32_t first = best_first + b * block_size;
    found.argmax = locate_value(source, first, found.maximum);
    if (source.value(found.argmax) >= found.maximum) break;
  }
  return found;
}

template <class Level, class Scalar>
[[nodiscard]] inline row_extremes<working<Scalar>> coarse_pass(exec::simd_on<Level>, const row_source<Scalar>& source,
                                                               const envelope<working<Scalar>>& weight,
                                                               float* lane_sums, double* block_sums) noexcept {
  if constexpr (std::is_same_v<working<Scalar>, float>) {
    return source.probabilities ? coarse_rows<true>(source, weight, lane_sums, block_sums)
                                : coarse_rows<false>(source, weight, lane_sums, block_sums);
  } else {
    return coarse_pass(exec::seq, source, weight, lane_sums, block_sums);  // double rows are for tests and references
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_XSIMD

#endif
