// SPDX-License-Identifier: Apache-2.0
//! A decision head of numbers of 14 bits and states of 13 bits: products are rounded in float unless they are fused,
//! but logits are exact in double, so that every build knows alike which scores are too close to be compared.
#ifndef SPECVERIFY_TESTS_OUTPUTS_HEAD_CASE_HPP
#define SPECVERIFY_TESTS_OUTPUTS_HEAD_CASE_HPP

#include <specverify/decision_head/mlp.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "row_case.hpp"

namespace row_outputs {

constexpr std::uint32_t head_positions = 5;
//! Logits of two builds differ by less (decision_head/mlp.hpp).
constexpr double head_margin = 1e-4;

//! Multiples of 2^-bits, up to `largest`, a power of 2.
inline std::vector<float> multiples(std::size_t size, int bits, float largest, generator& random) {
  const std::uint32_t most = std::uint32_t{1} << bits;
  std::vector<float> made(size);
  for (float& value : made)
    value = std::ldexp(largest * (static_cast<float>(random.below(2 * most + 1)) - static_cast<float>(most)), -bits);
  return made;
}

struct exact_head {
  head_shape shape{hidden_mode::predicting, 41, 75, 27};
  std::vector<float> first, first_bias, second;

  exact_head() {
    generator random{17};
    first = multiples(shape.width * shape.input_size(), 14, 0.25f, random);
    first_bias = multiples(shape.width, 14, 0.25f, random);
    second = multiples(shape.width, 10, 1.0f, random);
  }
  [[nodiscard]] head_weights view() const { return {shape, first, first_bias, second, 0.125f, {}, 0.5}; }
};

//! The states of a few positions.
struct head_states {
  std::vector<float> drafter, target;
  channel_vector channel{};

  head_states(const head_shape& shape, generator& random)
      : drafter(multiples(head_positions * shape.drafter_size, 13, 1.0f, random)),
        target(multiples(head_positions * shape.target_size, 13, 1.0f, random)) {
    const std::vector<float> said = multiples(channel.size(), 13, 1.0f, random);
    for (std::size_t i = 0; i < channel.size(); ++i) channel[i] = said[i];
  }
};

//! g of one position. Every step is exact.
inline double exact_logit(const exact_head& head, const head_states& states, std::uint32_t position) {
  const head_shape& shape = head.shape;
  std::vector<float> inputs;
  const auto add = [&](std::span<const float> more) { inputs.insert(inputs.end(), more.begin(), more.end()); };
  add(std::span(states.drafter).subspan(position * shape.drafter_size, shape.drafter_size));
  add(std::span(states.target).subspan(position * shape.target_size, shape.target_size));
  add(states.channel);
  double logit = 0.125;
  for (std::size_t k = 0; k < shape.width; ++k) {
    double unit = static_cast<double>(head.first_bias[k]);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      unit += static_cast<double>(head.first[k * inputs.size() + i]) * static_cast<double>(inputs[i]);
    if (unit > 0) logit += static_cast<double>(head.second[k]) * unit;
  }
  return logit;
}

}  // namespace row_outputs

#endif
