// SPDX-License-Identifier: Apache-2.0
//! A row at several temperatures, scalar reference: coarse sums at three nodes in one read, and exact sums of a few
//! held-out entries.
//!
//! The nodes are the inverse temperatures b/2, 3b/4 and b. The coarse exponential writes octaves into the exponent
//! field of a float, so its octaves at b/2 are a shift and those at 3b/4 an average of the octaves at b: one product
//! and one conversion serve three nodes.
#ifndef SPECVERIFY_KERNEL_SCALAR_TEMPERED_HPP
#define SPECVERIFY_KERNEL_SCALAR_TEMPERED_HPP

#include <specverify/kernel/scalar/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

inline constexpr std::uint32_t temper_nodes = 3;
// the smallest weight of a node: what a forbidden id adds to the sum at b/2
inline constexpr double temper_floor = 0x1.0p-50;

//! Octaves of (z - reference) at b, in units of 2^-23; the reference is the row's maximum, so they are never positive.
[[nodiscard]] SPECVERIFY_INLINE std::int32_t coarse_octaves(float difference, float scale) noexcept {
  const float scaled = difference * scale;
  return scaled > static_cast<float>(coarse_minimum) ? static_cast<std::int32_t>(scaled) : coarse_minimum;
}

//! The three weights of one entry.
struct tempered_weight {
  float at[temper_nodes];
  SPECVERIFY_INLINE explicit tempered_weight(std::int32_t octaves) noexcept
      : at{bits_as<float>((octaves >> 1) + coarse_bias),
           bits_as<float>(((octaves + (octaves >> 1)) >> 1) + coarse_bias), bits_as<float>(octaves + coarse_bias)} {}
};

//! Sums of the weights over a row of logits, for a `reference` that is its maximum. Lanes of a block are summed in
//! float, the rest in double. The forbidden ids that fill the last group of lanes count like forbidden ids of the row.
template <class Scalar>
inline void temper_sums(exec::seq_policy, const row_source<Scalar>& source, working<Scalar> reference, float scale,
                        double* sums) noexcept {
  using work = working<Scalar>;
  for (std::uint32_t n = 0; n < temper_nodes; ++n) sums[n] = 0;
  work buffer[block_size];
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const std::uint32_t width = block_width(source.size - first);
    const work* values = load(source, first, width, buffer);
    float lanes[temper_nodes][lane_count] = {};
    for (std::uint32_t i = 0; i < width; ++i) {
      const tempered_weight weight(coarse_octaves(coarse_difference(values[i], reference), scale));
      for (std::uint32_t n = 0; n < temper_nodes; ++n) lanes[n][i % lane_count] += weight.at[n];
    }
    for (std::uint32_t n = 0; n < temper_nodes; ++n) sums[n] += lane_tree(lanes[n]);
  }
}

// relative error, at most, of a quick sum of exponentials of floats
inline constexpr double tempered_margin = 0x1.0p-16;

//! Adds sum_i e^(difference_i * inverse) to sums[m] for every inverse temperature; differences are <= 0. Exact here.
inline void add_exponentials(exec::seq_policy, const float* differences, std::uint32_t count, const double* inverses,
                             std::uint32_t temperatures, double* sums) noexcept {
  for (std::uint32_t m = 0; m < temperatures; ++m) {
    double sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sum += exponential(static_cast<double>(differences[i]) * inverses[m]);
    sums[m] += sum;
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
