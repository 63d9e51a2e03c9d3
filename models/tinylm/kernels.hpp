// SPDX-License-Identifier: Apache-2.0
//! Computes the engine's arithmetic. Every output element is summed in one fixed order, independent of other work.
//!
//! All loops run over whole groups of 32 lanes (fixed-size Eigen arrays). There are no remainders, because their order
//! could depend on an address or a length. Only the .cpp files of this folder include this header, because a program
//! that runs a model should not parse Eigen.
#ifndef SPECVERIFY_MODELS_TINYLM_KERNELS_HPP
#define SPECVERIFY_MODELS_TINYLM_KERNELS_HPP

#include <cmath>
#include <cstddef>

#include <Eigen/Core>

#include "panel_matrix.hpp"

namespace tinylm {

using lane_array = Eigen::Array<float, static_cast<int>(lanes), 1>;
using lane_view = Eigen::Map<lane_array, Eigen::Unaligned>;
using const_lane_view = Eigen::Map<const lane_array, Eigen::Unaligned>;

//! Returns the sum of 32 lanes as a tree of fixed shape.
[[nodiscard]] inline float sum_of(const lane_array& x) {
  const Eigen::Array<float, 16, 1> a = x.head<16>() + x.tail<16>();
  const Eigen::Array<float, 8, 1> b = a.head<8>() + a.tail<8>();
  const Eigen::Array<float, 4, 1> c = b.head<4>() + b.tail<4>();
  return (c[0] + c[2]) + (c[1] + c[3]);
}

//! Returns the dot product over a multiple of 32 elements.
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

//! Replaces scores[0, count) by the softmax, and sets [count, round_up_to_lanes(count)) to 0.
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

#endif  // SPECVERIFY_MODELS_TINYLM_KERNELS_HPP
