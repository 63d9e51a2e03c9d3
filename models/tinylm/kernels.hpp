// SPDX-License-Identifier: Apache-2.0
//! Arithmetic of the engine: every output element is summed in one fixed order, whatever else is computed.
//!
//! A matrix lies in panels of 32 outputs. One accumulator of 32 lanes belongs to one position and one panel and takes
//! its inputs in ascending order, so how many positions share a pass over a panel changes when a sum is formed and
//! never how. All loops run over whole groups of 32 lanes (fixed-size Eigen arrays); there are no remainders whose
//! order could depend on an address or a length.
#ifndef SPECVERIFY_EXAMPLES_TINYLM_KERNELS_HPP
#define SPECVERIFY_EXAMPLES_TINYLM_KERNELS_HPP

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace tinylm {

inline constexpr std::size_t lanes = 32;
using lane_array = Eigen::Array<float, static_cast<int>(lanes), 1>;
using lane_view = Eigen::Map<lane_array, Eigen::Unaligned>;
using const_lane_view = Eigen::Map<const lane_array, Eigen::Unaligned>;

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

  //! weight(input, output) is read at values[input * input_stride + output * output_stride].
  panel_matrix(std::span<const float> values, std::size_t inputs, std::size_t outputs, std::size_t input_stride,
               std::size_t output_stride)
      : inputs_(inputs), outputs_(outputs), data_(round_up_to_lanes(outputs) * inputs, 0.0f) {
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i)
        data_[(o / lanes * inputs + i) * lanes + o % lanes] = values[i * input_stride + o * output_stride];
    }
  }

  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }

  //! y = x W for `count` positions; y has room for round_up_to_lanes(outputs()) floats a row.
  void multiply(row_block x, row_block y, std::size_t count) const {
    for (std::size_t panel = 0; panel * lanes < outputs_; ++panel) {
      const float* weights = data_.data() + panel * inputs_ * lanes;
      std::size_t p = 0;
      for (; p + 4 <= count; p += 4) tile<4>(weights, x, y, p, panel * lanes);
      for (; p + 2 <= count; p += 2) tile<2>(weights, x, y, p, panel * lanes);
      for (; p < count; ++p) tile<1>(weights, x, y, p, panel * lanes);
    }
  }

 private:
  template <std::size_t Count>
  void tile(const float* weights, row_block x, row_block y, std::size_t first, std::size_t column) const {
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

  std::size_t inputs_ = 0;
  std::size_t outputs_ = 0;
  std::vector<float> data_;
};

//! Sum of 32 lanes as a tree of fixed shape.
[[nodiscard]] inline float sum_of(const lane_array& x) {
  const Eigen::Array<float, 16, 1> a = x.head<16>() + x.tail<16>();
  const Eigen::Array<float, 8, 1> b = a.head<8>() + a.tail<8>();
  const Eigen::Array<float, 4, 1> c = b.head<4>() + b.tail<4>();
  return (c[0] + c[2]) + (c[1] + c[3]);
}

//! Dot product over a multiple of 32 elements.
[[nodiscard]] inline float dot(const float* a, const float* b, std::size_t size) {
  lane_array sum = const_lane_view(a) * const_lane_view(b);
  for (std::size_t i = lanes; i < size; i += lanes) sum += const_lane_view(a + i) * const_lane_view(b + i);
  return sum_of(sum);
}

//! y += scale * x over a multiple of 32 elements.
inline void add_scaled(float* y, const float* x, float scale, std::size_t size) {
  for (std::size_t i = 0; i < size; i += lanes) lane_view(y + i) += scale * const_lane_view(x + i);
}

//! y = x * gain / sqrt(mean(x^2) + 1e-5).
inline void rms_norm(const float* x, const float* gain, float* y, std::size_t size) {
  const float scale = 1.0f / std::sqrt(dot(x, x, size) / static_cast<float>(size) + 1e-5f);
  for (std::size_t i = 0; i < size; i += lanes)
    lane_view(y + i) = const_lane_view(x + i) * scale * const_lane_view(gain + i);
}

//! y = silu(gate) * up over a multiple of 32 elements.
inline void gated(const float* gate, const float* up, float* y, std::size_t size) {
  for (std::size_t i = 0; i < size; i += lanes) {
    const const_lane_view g(gate + i);
    lane_view(y + i) = g / (1.0f + (-g).exp()) * const_lane_view(up + i);
  }
}

//! scores[0, count) become their softmax; [count, round_up_to_lanes(count)) become 0.
inline void softmax(float* scores, std::size_t count) {
  float top = scores[0];
  for (std::size_t i = 1; i < count; ++i) top = scores[i] > top ? scores[i] : top;
  const std::size_t padded = round_up_to_lanes(count);
  for (std::size_t i = count; i < padded; ++i) scores[i] = top;
  for (std::size_t i = 0; i < padded; i += lanes) lane_view(scores + i) = (const_lane_view(scores + i) - top).exp();
  for (std::size_t i = count; i < padded; ++i) scores[i] = 0.0f;
  lane_array sum = const_lane_view(scores);
  for (std::size_t i = lanes; i < padded; i += lanes) sum += const_lane_view(scores + i);
  const float scale = 1.0f / sum_of(sum);
  for (std::size_t i = 0; i < padded; i += lanes) lane_view(scores + i) *= scale;
}

}  // namespace tinylm

#endif  // SPECVERIFY_EXAMPLES_TINYLM_KERNELS_HPP
