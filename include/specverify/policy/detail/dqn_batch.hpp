// SPDX-License-Identifier: Apache-2.0
//! Evaluates the network of policy/dqn.hpp on a batch, and computes its gradients. The order of a row's sums does not
//! depend on the other rows of the batch.
#ifndef SPECVERIFY_POLICY_DETAIL_DQN_BATCH_HPP
#define SPECVERIFY_POLICY_DETAIL_DQN_BATCH_HPP

#include <specverify/policy/dqn.hpp>

#include <cstddef>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Rows of floats in one array; row i begins at i * stride.
struct dqn_rows {
  float* data = nullptr;
  std::uint32_t stride = 0;
  [[nodiscard]] float* row(std::uint32_t i) const noexcept { return data + std::size_t{i} * stride; }
};

inline constexpr std::uint32_t dqn_lanes = 16;

//! Computes one tile of a layer: `Rows` rows starting at `first_row`, and at most 16 outputs starting at `first`.
template <std::uint32_t Rows>
inline void dqn_tile(const float* weights, const dqn_layer& layer, dqn_rows in, dqn_rows out, std::uint32_t first_row,
                     std::uint32_t first, bool rectified) noexcept {
  const std::uint32_t width = layer.outputs - first < dqn_lanes ? layer.outputs - first : dqn_lanes;
  float sum[Rows][dqn_lanes] = {};
  for (std::uint32_t r = 0; r < Rows; ++r) {
    for (std::uint32_t o = 0; o < width; ++o) sum[r][o] = weights[layer.bias() + first + o];
  }
  for (std::uint32_t i = 0; i < layer.inputs; ++i) {
    const float* row = weights + layer.offset + i * layer.outputs + first;
    float w[dqn_lanes] = {};
    if (width == dqn_lanes) {
      for (std::uint32_t o = 0; o < dqn_lanes; ++o) w[o] = row[o];
    } else {
      for (std::uint32_t o = 0; o < width; ++o) w[o] = row[o];
    }
    for (std::uint32_t r = 0; r < Rows; ++r) {
      const float x = in.row(first_row + r)[i];
      for (std::uint32_t o = 0; o < dqn_lanes; ++o) sum[r][o] += x * w[o];
    }
  }
  for (std::uint32_t r = 0; r < Rows; ++r) {
    float* to = out.row(first_row + r) + first;
    for (std::uint32_t o = 0; o < width; ++o) to[o] = rectified && !(sum[r][o] > 0) ? 0.0f : sum[r][o];
  }
}

inline void dqn_forward(const dqn_weights& weights, const dqn_layer& layer, dqn_rows in, dqn_rows out,
                        std::uint32_t count, bool rectified) noexcept {
  for (std::uint32_t first = 0; first < layer.outputs; first += dqn_lanes) {
    std::uint32_t r = 0;
    for (; r + 2 <= count; r += 2) dqn_tile<2>(weights.values.data(), layer, in, out, r, first, rectified);
    for (; r < count; ++r) dqn_tile<1>(weights.values.data(), layer, in, out, r, first, rectified);
  }
}

//! Writes the derivative with respect to the inputs of one layer to `back`. `slope` is the derivative with respect to
//! the outputs of the layer before ReLU.
inline void dqn_input_slopes(const dqn_weights& weights, const dqn_layer& layer, dqn_rows slope, std::uint32_t count,
                             const dqn_rows& back) noexcept {
  for (std::uint32_t r = 0; r < count; ++r) {
    const float* from = slope.row(r);
    for (std::uint32_t i = 0; i < layer.inputs; ++i) {
      const float* row = weights.values.data() + layer.offset + i * layer.outputs;
      float lane[dqn_lanes] = {};
      std::uint32_t o = 0;
      for (; o + dqn_lanes <= layer.outputs; o += dqn_lanes) {
        for (std::uint32_t k = 0; k < dqn_lanes; ++k) lane[k] += from[o + k] * row[o + k];
      }
      float sum = 0;
      for (; o < layer.outputs; ++o) sum += from[o] * row[o];
      for (std::uint32_t k = 0; k < dqn_lanes; ++k) sum += lane[k];
      back.row(r)[i] = sum;
    }
  }
}

//! Adds the gradient of one layer to `gradient`. `slope` is the derivative with respect to the outputs of the layer
//! before ReLU. If `back` is not null, the function writes the derivative with respect to the layer's inputs to it.
inline void dqn_backward(const dqn_weights& weights, const dqn_layer& layer, dqn_rows in, dqn_rows slope,
                         std::uint32_t count, dqn_weights& gradient, const dqn_rows* back) noexcept {
  float* bias = gradient.values.data() + layer.bias();
  for (std::uint32_t r = 0; r < count; ++r) {
    for (std::uint32_t o = 0; o < layer.outputs; ++o) bias[o] += slope.row(r)[o];
  }
  for (std::uint32_t i = 0; i < layer.inputs; ++i) {
    float* row = gradient.values.data() + layer.offset + i * layer.outputs;
    for (std::uint32_t first = 0; first < layer.outputs; first += dqn_lanes) {
      const std::uint32_t width = layer.outputs - first < dqn_lanes ? layer.outputs - first : dqn_lanes;
      float sum[dqn_lanes] = {};
      if (width == dqn_lanes) {
        for (std::uint32_t r = 0; r < count; ++r) {
          const float x = in.row(r)[i];
          const float* from = slope.row(r) + first;
          for (std::uint32_t o = 0; o < dqn_lanes; ++o) sum[o] += x * from[o];
        }
      } else {
        for (std::uint32_t r = 0; r < count; ++r) {
          for (std::uint32_t o = 0; o < width; ++o) sum[o] += in.row(r)[i] * slope.row(r)[first + o];
        }
      }
      for (std::uint32_t o = 0; o < width; ++o) row[first + o] += sum[o];
    }
  }
  if (back != nullptr) dqn_input_slopes(weights, layer, slope, count, *back);
}

//! Stores the activations of a batch, and computes gradients by backpropagation.
class dqn_batch {
 public:
  //! Returns a batch for up to `capacity` rows. Errors: invalid_argument (capacity 0).
  [[nodiscard]] static result<dqn_batch> make(std::uint32_t capacity) {
    if (capacity == 0) return status{errc::invalid_argument, part::policy, 0};
    return dqn_batch(capacity);
  }
  dqn_batch(const dqn_batch&) = delete;
  dqn_batch& operator=(const dqn_batch&) = delete;
  dqn_batch(dqn_batch&&) = default;  // rows point into the vector's memory, which moves with it
  dqn_batch& operator=(dqn_batch&&) = default;

  [[nodiscard]] float* input(std::uint32_t r) noexcept { return inputs_.row(r); }
  [[nodiscard]] const float* values(std::uint32_t r) const noexcept { return values_.row(r); }

  void forward(const dqn_weights& weights, std::uint32_t count) noexcept {
    const auto part_of = [](dqn_rows rows, std::uint32_t from) { return dqn_rows{rows.data + from, rows.stride}; };
    dqn_forward(weights, dqn_layers[0], inputs_, main_, count, true);
    dqn_forward(weights, dqn_layers[1], main_, joined_, count, true);
    dqn_forward(weights, dqn_layers[2], part_of(inputs_, 64), auxiliary_, count, true);
    dqn_forward(weights, dqn_layers[3], auxiliary_, part_of(joined_, 128), count, true);
    dqn_forward(weights, dqn_layers[4], part_of(inputs_, 66), uplink_, count, true);
    dqn_forward(weights, dqn_layers[5], uplink_, part_of(joined_, 160), count, true);
    dqn_forward(weights, dqn_layers[6], joined_, hidden_, count, true);
    dqn_forward(weights, dqn_layers[7], hidden_, values_, count, false);
  }

  //! Adds the gradient of the sum over rows of value_slope[r] * values(r)[action[r]] to `gradient`. `forward` must have
  //! been called with the same weights.
  void backward(const dqn_weights& weights, std::span<const std::uint32_t> actions, std::span<const float> value_slope,
                dqn_weights& gradient) noexcept {
    const auto count = static_cast<std::uint32_t>(actions.size());
    const auto part_of = [](dqn_rows rows, std::uint32_t from) { return dqn_rows{rows.data + from, rows.stride}; };
    const dqn_rows top = slope_, below = slope_below_;
    for (std::uint32_t r = 0; r < count; ++r) {
      for (std::uint32_t o = 0; o < dqn_actions; ++o) top.row(r)[o] = o == actions[r] ? value_slope[r] : 0.0f;
    }
    dqn_backward(weights, dqn_layers[7], hidden_, top, count, gradient, &below);
    rectify(below, hidden_, 128, count);
    dqn_backward(weights, dqn_layers[6], joined_, below, count, gradient, &top);
    rectify(top, joined_, 176, count);
    const std::uint32_t start[] = {0, 128, 160};
    const dqn_rows between[] = {main_, auxiliary_, uplink_},
                   inputs[] = {inputs_, part_of(inputs_, 64), part_of(inputs_, 66)};
    for (std::size_t branch = 0; branch < 3; ++branch) {
      const dqn_layer &second = dqn_layers[2 * branch + 1], &first = dqn_layers[2 * branch];
      dqn_backward(weights, second, between[branch], part_of(top, start[branch]), count, gradient, &below);
      rectify(below, between[branch], second.inputs, count);
      dqn_backward(weights, first, inputs[branch], below, count, gradient, nullptr);
    }
  }

 private:
  explicit dqn_batch(std::uint32_t capacity) : memory_(std::size_t{capacity} * width) {
    float* at = memory_.data();
    const auto block = [&](std::uint32_t stride) {
      const dqn_rows rows{at, stride};
      at += std::size_t{capacity} * stride;
      return rows;
    };
    inputs_ = block(dqn_inputs);
    main_ = block(128);
    auxiliary_ = block(32);
    uplink_ = block(16);
    joined_ = block(176);
    hidden_ = block(128);
    values_ = block(dqn_actions);
    slope_ = block(176);
    slope_below_ = block(176);
  }
  static constexpr std::size_t width = dqn_inputs + 128 + 32 + 16 + 176 + 128 + dqn_actions + 176 + 176;

  static void rectify(dqn_rows slope, dqn_rows activation, std::uint32_t size, std::uint32_t count) noexcept {
    for (std::uint32_t r = 0; r < count; ++r) {
      for (std::uint32_t i = 0; i < size; ++i) slope.row(r)[i] = activation.row(r)[i] > 0 ? slope.row(r)[i] : 0.0f;
    }
  }

  std::vector<float> memory_;
  dqn_rows inputs_, main_, auxiliary_, uplink_, joined_, hidden_, values_, slope_, slope_below_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
