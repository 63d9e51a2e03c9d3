// SPDX-License-Identifier: Apache-2.0
// Multiplies by the matrix: one to four positions share a pass over a panel.
#include "panel_matrix.hpp"

#include "kernels.hpp"

namespace tinylm {

panel_matrix::panel_matrix(std::span<const float> values, std::size_t inputs, std::size_t outputs,
                           std::size_t input_stride, std::size_t output_stride)
    : inputs_(inputs), outputs_(outputs), data_(round_up_to_lanes(outputs) * inputs, 0.0f) {
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i)
      data_[(o / lanes * inputs + i) * lanes + o % lanes] = values[i * input_stride + o * output_stride];
  }
}

template <std::size_t Count>
void panel_matrix::tile(const float* weights, row_block x, row_block y, std::size_t first, std::size_t column) const {
  lane_array sum[Count];
  const float* from[Count];
  for (std::size_t r = 0; r < Count; ++r) {
    sum[r].setZero();
    from[r] = x.row(first + r);
  }
  for (std::size_t i = 0; i < inputs_; ++i) {
    const const_lane_view w(weights + i * lanes);
    for (std::size_t r = 0; r < Count; ++r) sum[r] += from[r][i] * w;
  }
  for (std::size_t r = 0; r < Count; ++r) lane_view(y.row(first + r) + column) = sum[r];
}

void panel_matrix::multiply(row_block x, row_block y, std::size_t count) const {
  for (std::size_t panel = 0; panel * lanes < outputs_; ++panel) {
    const float* weights = data_.data() + panel * inputs_ * lanes;
    std::size_t p = 0;
    for (; p + 4 <= count; p += 4) tile<4>(weights, x, y, p, panel * lanes);
    for (; p + 2 <= count; p += 2) tile<2>(weights, x, y, p, panel * lanes);
    for (; p < count; ++p) tile<1>(weights, x, y, p, panel * lanes);
  }
}

}  // namespace tinylm
