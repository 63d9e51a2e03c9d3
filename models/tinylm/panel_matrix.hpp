// SPDX-License-Identifier: Apache-2.0
//! Stores rows of floats, and a matrix that multiplies several rows in one pass.
//!
//! A matrix is stored in panels of 32 outputs. One accumulator of 32 lanes belongs to one position and one panel, and
//! adds the inputs in ascending order. Therefore the number of positions that share a pass may change when a sum is
//! formed, but never the order of the sum.
#ifndef SPECVERIFY_MODELS_TINYLM_PANEL_MATRIX_HPP
#define SPECVERIFY_MODELS_TINYLM_PANEL_MATRIX_HPP

#include <cstddef>
#include <span>
#include <vector>

namespace tinylm {

inline constexpr std::size_t lanes = 32;

[[nodiscard]] constexpr std::size_t round_up_to_lanes(std::size_t n) { return (n + lanes - 1) / lanes * lanes; }

//! Rows of floats at a common stride.
struct row_block {
  float* data;
  std::size_t stride;
  [[nodiscard]] float* row(std::size_t i) const { return data + i * stride; }
};

//! An inputs x outputs matrix in panels of 32 outputs: [panel][input][lane].
class panel_matrix {
 public:
  panel_matrix() = default;

  //! Reads weight(input, output) at values[input * input_stride + output * output_stride].
  panel_matrix(std::span<const float> values, std::size_t inputs, std::size_t outputs, std::size_t input_stride,
               std::size_t output_stride);

  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }

  //! Computes y = x W for `count` positions. Each row of y must have room for round_up_to_lanes(outputs()) floats.
  void multiply(row_block x, row_block y, std::size_t count) const;

 private:
  template <std::size_t Count>
  void tile(const float* weights, row_block x, row_block y, std::size_t first, std::size_t column) const;

  std::size_t inputs_ = 0;
  std::size_t outputs_ = 0;
  std::vector<float> data_;
};

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_PANEL_MATRIX_HPP
