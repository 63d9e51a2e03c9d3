// SPDX-License-Identifier: Apache-2.0
// A head with its arrays, random states, and the head's formula in plain double loops.
#ifndef SPECVERIFY_TESTS_UNIT_DECISION_HEAD_HEAD_KIT_HPP
#define SPECVERIFY_TESTS_UNIT_DECISION_HEAD_HEAD_KIT_HPP

#include <specverify/decision_head/mlp.hpp>

#include <cmath>
#include <random>
#include <vector>

namespace head_kit {

namespace sv = specverify;

struct owned_head {
  sv::head_shape shape{};
  std::vector<float> first{}, first_bias{}, second{};
  float second_bias = 0;
  sv::channel_standardisation channel{};
  double threshold = 0.5;

  [[nodiscard]] sv::head_weights view() const {
    return {shape, first, first_bias, second, second_bias, channel, threshold};
  }
};

class generator {
 public:
  explicit generator(std::uint32_t seed) : bits_(seed * 2654435761u % 2147483646u + 1) { bits_.discard(4); }
  double uniform() { return static_cast<double>(bits_() - 1) / 2147483646.0; }
  float normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return static_cast<float>(sum);
  }
  std::vector<float> vector(std::size_t size, float scale = 1) {
    std::vector<float> made(size);
    for (float& x : made) x = scale * normal();
    return made;
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(uniform() * bound) % bound; }

 private:
  std::minstd_rand bits_;
};

inline owned_head random_head(sv::head_shape shape, std::uint32_t seed) {
  generator draw(seed);
  owned_head made;
  made.shape = shape;
  const auto inputs = static_cast<float>(shape.input_size());
  made.first = draw.vector(shape.width * shape.input_size(), 1.0f / std::sqrt(inputs));
  made.first_bias = draw.vector(shape.width, 0.3f);
  made.second = draw.vector(shape.width, 1.5f / std::sqrt(static_cast<float>(shape.width)));
  made.second_bias = 0.2f * draw.normal();
  return made;
}

//! g by its formula, on the concatenated input.
inline double plain_logit(const owned_head& head, const std::vector<float>& drafter, const std::vector<float>& target,
                          const sv::channel_vector& c) {
  std::vector<double> z(drafter.begin(), drafter.end());
  z.insert(z.end(), target.begin(), target.end());
  z.insert(z.end(), c.begin(), c.end());
  double g = static_cast<double>(head.second_bias);
  for (std::size_t k = 0; k < head.second.size(); ++k) {
    double unit = static_cast<double>(head.first_bias[k]);
    for (std::size_t i = 0; i < z.size(); ++i) unit += static_cast<double>(head.first[k * z.size() + i]) * z[i];
    g += static_cast<double>(head.second[k]) * std::max(unit, 0.0);
  }
  return g;
}

}  // namespace head_kit

#endif
