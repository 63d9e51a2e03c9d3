// SPDX-License-Identifier: Apache-2.0
//! Computes the loss and the gradient of a decision head on a batch of samples, and makes AdamW steps, for
//! decision_head/trainer.hpp.
#ifndef SPECVERIFY_DECISION_HEAD_DETAIL_GRADIENT_HPP
#define SPECVERIFY_DECISION_HEAD_DETAIL_GRADIENT_HPP

#include <specverify/core/random.hpp>
#include <specverify/cpp20.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

template <class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using column = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

template <class Scalar>
struct mlp_parameters {
  matrix<Scalar> first{};        // w x d_in
  column<Scalar> first_bias{};   // w
  column<Scalar> second{};       // w
  column<Scalar> second_bias{};  // 1

  void set_zero(Eigen::Index width, Eigen::Index inputs) {
    first.setZero(width, inputs);
    first_bias.setZero(width);
    second.setZero(width);
    second_bias.setZero(1);
  }
};

// Intermediate values of a batch. They are kept between calls, so steps with batches of one size do not allocate.
template <class Scalar>
struct mlp_buffers {
  matrix<Scalar> hidden{};  // w x batch, after ReLU and dropout
  matrix<Scalar> back{};    // w x batch
  column<Scalar> logits{};
  column<Scalar> slope{};
};

//! Returns the mean loss over the batch, and writes the gradient unless `gradient` is null. The loss of a sample with
//! logit g and label t is weight * (ln(1 + e^g) - t g), where weight is positive_weight if t = 1, otherwise 1. `inputs`
//! has one sample per column. `mask` (w x batch, or empty) multiplies the hidden layer. The logits remain in `use`.
template <class Scalar>
[[nodiscard]] Scalar mlp_loss(const mlp_parameters<Scalar>& at, const matrix<Scalar>& inputs,
                              const column<Scalar>& labels, Scalar positive_weight, const matrix<Scalar>& mask,
                              mlp_parameters<Scalar>* gradient, mlp_buffers<Scalar>& use) {
  const Eigen::Index batch = inputs.cols();
  use.hidden.noalias() = at.first * inputs;
  use.hidden.colwise() += at.first_bias;
  use.hidden = use.hidden.cwiseMax(Scalar{0});
  if (mask.size() != 0) use.hidden.array() *= mask.array();
  use.logits.noalias() = use.hidden.transpose() * at.second;
  use.logits.array() += at.second_bias(0);
  use.slope.resize(batch);
  Scalar loss = 0;
  for (Eigen::Index i = 0; i < batch; ++i) {
    const Scalar g = use.logits(i), tail = std::exp(g < 0 ? g : -g),
                 weight = labels(i) > Scalar{0.5} ? positive_weight : Scalar{1};
    loss += weight * ((g > 0 ? g : Scalar{0}) + std::log1p(tail) - labels(i) * g);
    use.slope(i) = weight * ((g < 0 ? tail : Scalar{1}) / (Scalar{1} + tail) - labels(i)) / static_cast<Scalar>(batch);
  }
  if (gradient != nullptr) {
    gradient->second.noalias() = use.hidden * use.slope;
    gradient->second_bias(0) = use.slope.sum();
    use.back.noalias() = at.second * use.slope.transpose();
    use.back.array() *= (use.hidden.array() > Scalar{0}).template cast<Scalar>();
    if (mask.size() != 0) use.back.array() *= mask.array();
    gradient->first.noalias() = use.back * inputs.transpose();
    gradient->first_bias = use.back.rowwise().sum();
  }
  return loss / static_cast<Scalar>(batch);
}

//! Sets each number of `mask` (width x size) to 0 with probability `dropout`, otherwise to 1 / (1 - dropout). Without
//! dropout the mask is not changed. Each call of `draw(sample, unit / 8)` must return eight 16-bit uniforms.
template <class Draw>
void fill_dropout(matrix<float>& mask, std::uint32_t width, std::size_t size, double dropout, Draw draw) {
  const auto limit = static_cast<std::uint32_t>(dropout * 65536);
  if (limit == 0) return;
  mask.resize(static_cast<Eigen::Index>(width), static_cast<Eigen::Index>(size));
  const float kept = 65536.0f / static_cast<float>(65536 - limit);
  for (std::size_t s = 0; s < size; ++s) {
    float* to = mask.data() + s * width;
    for (std::uint32_t k = 0; k < width; k += 8) {
      const random_block block = draw(static_cast<std::uint32_t>(s), k / 8);
      for (std::uint32_t j = 0; j < 8 && k + j < width; ++j)
        to[k + j] = (block.word[j / 2] >> (16 * (j % 2)) & 0xFFFFu) < limit ? 0.0f : kept;
    }
  }
}

//! Returns the probability that a sample with label 1 scores above a sample with label 0; a tie counts half. Returns
//! 0.5 if one label is missing. Sorts the input.
[[nodiscard]] inline double area_under_curve(std::span<std::pair<float, std::uint8_t>> scored) {
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double below = 0, pairs = 0, ones = 0;
  for (std::size_t first = 0; first < scored.size();) {
    std::size_t last = first;
    double here_ones = 0, here_zeros = 0;
    for (; last < scored.size() && !(scored[first].first < scored[last].first); ++last)
      (scored[last].second != 0 ? here_ones : here_zeros) += 1;
    pairs += here_ones * (below + here_zeros / 2);
    below += here_zeros;
    ones += here_ones;
    first = last;
  }
  return ones > 0 && below > 0 ? pairs / (ones * below) : 0.5;
}

struct adam_rates {
  double rate = 1e-3;
  double decay = 1e-2;
  double first_moment = 0.9;
  double second_moment = 0.999;
  double epsilon = 1e-8;
};

//! Makes one AdamW step for one array; `step` counts from 1. The weight decay is decoupled: it is not part of the
//! moments.
template <class Values>
void adam_step(Values& at, const Values& gradient, Values& mean, Values& square, const adam_rates& rates, double decay,
               std::uint64_t step) {
  using scalar = typename Values::Scalar;
  const auto b1 = static_cast<scalar>(rates.first_moment), b2 = static_cast<scalar>(rates.second_moment);
  const auto c1 = static_cast<scalar>(1 - std::pow(rates.first_moment, static_cast<double>(step)));
  const auto c2 = static_cast<scalar>(1 - std::pow(rates.second_moment, static_cast<double>(step)));
  mean = b1 * mean + (scalar{1} - b1) * gradient;
  square.array() = b2 * square.array() + (scalar{1} - b2) * gradient.array().square();
  at.array() -= static_cast<scalar>(rates.rate) *
                ((mean.array() / c1) / ((square.array() / c2).sqrt() + static_cast<scalar>(rates.epsilon)) +
                 static_cast<scalar>(decay) * at.array());
}

template <class Scalar>
void adam_step(mlp_parameters<Scalar>& at, const mlp_parameters<Scalar>& gradient, mlp_parameters<Scalar>& mean,
               mlp_parameters<Scalar>& square, const adam_rates& rates, std::uint64_t step) {
  adam_step(at.first, gradient.first, mean.first, square.first, rates, rates.decay, step);
  adam_step(at.first_bias, gradient.first_bias, mean.first_bias, square.first_bias, rates, 0, step);
  adam_step(at.second, gradient.second, mean.second, square.second, rates, rates.decay, step);
  adam_step(at.second_bias, gradient.second_bias, mean.second_bias, square.second_bias, rates, 0, step);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
