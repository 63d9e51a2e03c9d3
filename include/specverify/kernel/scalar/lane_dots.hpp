// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: multiplies matrix rows by input vectors, and sums the products in 32 lanes.
//!
//! Lane j sums the products j, j + 32, ... in this order. Then the lanes are added pairwise. An input gives the same
//! bits, whether it is passed alone or with other inputs.
#ifndef SPECVERIFY_KERNEL_SCALAR_LANE_DOTS_HPP
#define SPECVERIFY_KERNEL_SCALAR_LANE_DOTS_HPP

#include <specverify/core/execution.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

inline constexpr std::uint32_t dot_lanes = 32;
inline constexpr std::uint32_t dot_inputs = 4;  // maximum inputs per call

//! Maximum rows per call. It is small for a single input, so that each row is read from end to end.
template <std::uint32_t Inputs>
inline constexpr std::uint32_t dot_rows = Inputs == 1 ? 4 : 24;

//! Rows and inputs of `size` numbers each. A stride is the distance from one row or input to the next.
struct dot_panel {
  const float* rows = nullptr;
  std::size_t row_stride = 0;
  const float* inputs = nullptr;
  std::size_t input_stride = 0;
  std::size_t size = 0;
};

[[nodiscard]] inline float lane_total(float* lanes) noexcept {
  for (std::uint32_t half = dot_lanes / 2; half > 0; half /= 2) {
    for (std::uint32_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

//! Writes the dot product of row r and input i to out[r * Inputs + i], for r < row_count <= dot_rows<Inputs>.
template <std::uint32_t Inputs>
inline void lane_dots(exec::seq_policy, const dot_panel& panel, std::uint32_t row_count, float* out) noexcept {
  for (std::uint32_t i = 0; i < row_count * Inputs; ++i) {
    const float *row = panel.rows + i / Inputs * panel.row_stride,
                *input = panel.inputs + i % Inputs * panel.input_stride;
    float lanes[dot_lanes] = {};
    for (std::size_t k = 0; k < panel.size; ++k) lanes[k % dot_lanes] += row[k] * input[k];
    out[i] = lane_total(lanes);
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
