// SPDX-License-Identifier: Apache-2.0
#if __has_include(<Eigen/Core>)  // cross builds have no Eigen
#include <specverify/decision_head/trainer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "head_kit.hpp"

namespace sv = specverify;
using head_kit::generator;

namespace {

//! Mismatches whose label is a rule of the states and, when `use_channel`, of the link.
struct data_set {
  std::vector<float> drafter{}, target{};
  std::vector<std::uint32_t> group{}, state{};
  std::vector<sv::channel_vector> channel{};
  std::vector<std::uint8_t> labels{};
  std::uint32_t drafter_size = 6, target_size = 4;

  [[nodiscard]] sv::training_samples view() const {
    return {sv::hidden_mode::predicting, drafter_size, target_size, drafter, target, group, state, channel, labels};
  }
};

data_set separable(std::uint32_t states, bool by_channel, std::uint32_t seed) {
  generator draw(seed);
  data_set made;
  for (std::uint32_t s = 0; s < states; ++s) {
    // Shifted and stretched features: what the trainer standardises.
    std::vector<float> h = draw.vector(made.drafter_size, 3), t = draw.vector(made.target_size, 0.2f);
    for (float& x : h) x += 10;
    const double rule = static_cast<double>(h[0] - 10) / 3 - static_cast<double>(t[1]) / 0.2;
    made.drafter.insert(made.drafter.end(), h.begin(), h.end());
    made.target.insert(made.target.end(), t.begin(), t.end());
    made.group.push_back(s / 3);
    for (int copy = 0; copy < 2; ++copy) {
      const float rate = copy == 0 ? 7.0f : 8.0f;
      made.state.push_back(s);
      made.channel.push_back({rate, rate, 1e-3f, 1e-3f, 0.01f});
      made.labels.push_back(by_channel ? (rule > 1.2 || (rule > 0 && copy == 1) ? 1 : 0) : (rule > 0.4 ? 1 : 0));
    }
  }
  return made;
}

sv::training_options quick() {
  sv::training_options options;
  options.width = 32;
  options.epochs = 15;
  options.batch = 64;
  options.learning_rate = 5e-3;
  return options;
}

double accuracy(const sv::decision_head& head, const data_set& on) {
  const sv::head_weights view = head.view();
  double right = 0;
  for (std::size_t i = 0; i < on.labels.size(); ++i) {
    const std::size_t s = on.state[i];
    const auto rho = sv::head_score(
        view, sv::drafter_input::hidden_state, std::span(on.drafter).subspan(s * on.drafter_size, on.drafter_size),
        std::span(on.target).subspan(s * on.target_size, on.target_size), sv::standardise(on.channel[i], view.channel));
    REQUIRE(rho.ok());
    right += (*rho >= 0.5) == (on.labels[i] != 0) ? 1 : 0;
  }
  return right / static_cast<double>(on.labels.size());
}

sv::head_trainer trained(const sv::training_options& options, const data_set& on,
                         std::vector<sv::epoch_report>* reports = nullptr) {
  auto made = sv::head_trainer::make(options, on.view());
  REQUIRE(made.ok());
  while (!made.value().finished()) {
    const sv::epoch_report report = made.value().run_epoch();
    if (reports != nullptr) reports->push_back(report);
  }
  return std::move(made).value();
}

std::vector<float> numbers(const sv::decision_head& head) {
  const sv::head_weights view = head.view();
  std::vector<float> all(view.first.begin(), view.first.end());
  all.insert(all.end(), view.first_bias.begin(), view.first_bias.end());
  all.insert(all.end(), view.second.begin(), view.second.end());
  all.push_back(view.second_bias);
  return all;
}

}  // namespace

TEST_CASE("trainer: the gradient equals finite differences") {
  using detail_matrix = sv::detail::matrix<double>;
  generator draw(3);
  const Eigen::Index width = 5, inputs = 7, batch = 9;
  sv::detail::mlp_parameters<double> at, gradient;
  sv::detail::mlp_buffers<double> buffers;
  at.set_zero(width, inputs);
  gradient.set_zero(width, inputs);
  detail_matrix z(inputs, batch), mask(width, batch);
  sv::detail::column<double> labels(batch);
  for (double& x : at.first.reshaped()) x = draw.uniform() - 0.5;
  for (double& x : at.first_bias) x = draw.uniform() - 0.3;
  for (double& x : at.second) x = draw.uniform() - 0.5;
  at.second_bias(0) = 0.1;
  for (double& x : z.reshaped()) x = 2 * draw.uniform() - 1;
  for (double& x : mask.reshaped()) x = draw.below(4) == 0 ? 0.0 : 4.0 / 3;
  for (double& t : labels) t = draw.below(2) == 0 ? 0.0 : 1.0;
  for (const bool dropped : {false, true}) {
    const detail_matrix used = dropped ? mask : detail_matrix();
    const auto loss = [&] { return sv::detail::mlp_loss<double>(at, z, labels, 2.5, used, nullptr, buffers); };
    const double here = sv::detail::mlp_loss<double>(at, z, labels, 2.5, used, &gradient, buffers);
    CHECK(here == loss());
    double by_definition = 0;  // (26) with weights
    for (Eigen::Index i = 0; i < batch; ++i) {
      double g = at.second_bias(0);
      for (Eigen::Index k = 0; k < width; ++k) {
        double unit = at.first_bias(k);
        for (Eigen::Index j = 0; j < inputs; ++j) unit += at.first(k, j) * z(j, i);
        g += at.second(k) * std::max(unit, 0.0) * (dropped ? mask(k, i) : 1.0);
      }
      const double rho = 1 / (1 + std::exp(-g));
      by_definition -= labels(i) > 0.5 ? 2.5 * std::log(rho) : std::log(1 - rho);
    }
    CHECK(here == doctest::Approx(by_definition / static_cast<double>(batch)).epsilon(1e-12));
    const auto compare = [&](double& parameter, double said) {
      const double step = 1e-6, kept = parameter;
      parameter = kept + step;
      const double above = loss();
      parameter = kept - step;
      const double below = loss();
      parameter = kept;
      const double measured = (above - below) / (2 * step);
      CHECK(std::fabs(measured - said) < 1e-7);
    };
    for (Eigen::Index k = 0; k < width; ++k) {
      for (Eigen::Index j = 0; j < inputs; ++j) compare(at.first(k, j), gradient.first(k, j));
      compare(at.first_bias(k), gradient.first_bias(k));
      compare(at.second(k), gradient.second(k));
    }
    compare(at.second_bias(0), gradient.second_bias(0));
  }
}

TEST_CASE("trainer: AdamW by hand: the first step is the rate, the decay stands beside it") {
  sv::detail::column<double> at(2), gradient(2), mean(2), square(2);
  at << 1.0, -2.0;
  gradient << 0.5, -1e-3;
  mean.setZero();
  square.setZero();
  sv::detail::adam_rates rates;
  rates.rate = 0.1;
  sv::detail::adam_step(at, gradient, mean, square, rates, 0.01, 1);
  CHECK(at(0) == doctest::Approx(1.0 - 0.1 * (1 + 0.01)).epsilon(1e-6));
  CHECK(at(1) == doctest::Approx(-2.0 + 0.1 * (1 + 0.02)).epsilon(1e-4));
  const double m = 0.9 * 0.05 + 0.1 * 0.25, v = 0.999 * 0.00025 + 0.001 * 0.0625, before = at(0);
  gradient(0) = 0.25;
  sv::detail::adam_step(at, gradient, mean, square, rates, 0.01, 2);
  CHECK(at(0) ==
        doctest::Approx(before - 0.1 * (m / 0.19 / std::sqrt(v / (1 - 0.998001)) + 0.01 * before)).epsilon(1e-6));
}

TEST_CASE("trainer: learns a separable set, and the finished head takes raw states") {
  const data_set on = separable(900, false, 1), other = separable(900, false, 2);
  std::vector<sv::epoch_report> reports;
  const sv::head_trainer done = trained(quick(), on, &reports);
  CHECK(done.training_size() + done.validation_size() == on.labels.size());
  CHECK(done.validation_size() > 100);
  CHECK(reports.back().epoch == 15);
  CHECK(reports.back().training_loss < 0.4 * reports.front().training_loss);
  const auto best = std::min_element(reports.begin(), reports.end(), [](const auto& a, const auto& b) {
    return a.validation_loss < b.validation_loss;
  });
  CHECK(best->validation_auc > 0.99);
  CHECK(best->best);
  const auto head = done.head();
  REQUIRE(head.ok());
  CHECK(accuracy(head.value(), on) > 0.96);
  CHECK(accuracy(head.value(), other) > 0.95);
}

TEST_CASE("trainer: learns what depends on the channel, and cannot without it") {
  const data_set on = separable(1200, true, 5), other = separable(900, true, 6);
  const auto with = trained(quick(), on).head();
  REQUIRE(with.ok());
  CHECK(accuracy(with.value(), other) > 0.94);
  sv::training_options blind = quick();
  blind.use_channel = false;
  const auto without = trained(blind, on).head();
  REQUIRE(without.ok());
  CHECK(accuracy(without.value(), other) < accuracy(with.value(), other) - 0.05);
  const sv::head_weights view = without.value().view();
  const std::size_t stride = view.shape.input_size();
  for (std::size_t k = 0; k < view.shape.width; ++k) {
    for (std::size_t i = stride - 5; i < stride; ++i) CHECK(view.first[k * stride + i] == 0.0f);
  }
}

TEST_CASE("trainer: same seed same head, another seed another; the class weight is N0 / N1") {
  const data_set on = separable(150, false, 7);
  sv::training_options options = quick();
  options.epochs = 2;
  const auto first = trained(options, on), second = trained(options, on);
  CHECK(numbers(first.head().value()) == numbers(second.head().value()));
  options.seed = 2;
  CHECK(numbers(trained(options, on).head().value()) != numbers(first.head().value()));
  options.validation_share = 1e-9;
  CHECK(sv::head_trainer::make(options, on.view()).error().code == sv::errc::training_set_empty);
  std::size_t ones = 0;
  for (const std::uint8_t label : on.labels) ones += label;
  const double all = static_cast<double>(on.labels.size() - ones) / static_cast<double>(ones);
  CHECK(first.positive_weight() == doctest::Approx(all).epsilon(0.2));
}

TEST_CASE("trainer: validation takes whole groups") {
  // Labels that only a group's own states tell: seen groups are learnt by heart, unseen ones cannot be.
  data_set on = separable(300, false, 8);
  generator draw(9);
  for (std::size_t i = 0; i < on.labels.size(); i += 2)
    on.labels[i] = on.labels[i + 1] = static_cast<std::uint8_t>(draw.below(2));
  sv::training_options options = quick();
  options.epochs = 40;
  options.width = 128;
  options.dropout = 0;
  std::vector<sv::epoch_report> reports;
  trained(options, on, &reports);
  CHECK(reports.back().training_loss < 0.4);
  CHECK(reports.back().validation_auc < 0.75);
}

TEST_CASE("trainer: bad options and samples have a name") {
  const data_set on = separable(60, false, 4);
  const auto where = [&](auto change) {
    sv::training_options options = quick();
    change(options);
    const auto made = sv::head_trainer::make(options, on.view());
    CHECK(made.error().code == sv::errc::invalid_argument);
    return made.error().where;
  };
  CHECK(where([](auto& o) { o.dropout = 1; }) == 1);
  CHECK(where([](auto& o) { o.learning_rate = 0; }) == 2);
  CHECK(where([](auto& o) { o.late_rate = 0; }) == 3);
  CHECK(where([](auto& o) { o.weight_decay = -1; }) == 4);
  CHECK(where([](auto& o) { o.positive_weight = -1; }) == 5);
  CHECK(where([](auto& o) { o.validation_share = 1; }) == 6);
  constexpr double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});
  CHECK(where([](auto& o) { o.dropout = not_a_number; }) == 1);
  CHECK(where([](auto& o) { o.learning_rate = not_a_number; }) == 2);
  CHECK(where([](auto& o) { o.validation_share = not_a_number; }) == 6);
  CHECK(where([](auto& o) { o.batch = 0; }) == 7);
  CHECK(where([](auto& o) { o.epochs = 0; }) == 8);
  CHECK(where([](auto& o) { o.width = 0; }) == 0);
  const auto error = [&](auto change) {
    data_set bad = on;
    change(bad);
    return sv::head_trainer::make(quick(), bad.view()).error();
  };
  CHECK(error([](data_set& d) { d.drafter.pop_back(); }).where == 20);
  CHECK(error([](data_set& d) { d.target.pop_back(); }).where == 21);
  CHECK(error([](data_set& d) { d.labels.pop_back(); }).where == 22);
  CHECK(error([](data_set& d) { d.state[0] = 60; }).where == 23);
  CHECK(error([](data_set& d) { d.target[3] = std::bit_cast<float>(0x7FC00000u); }) ==
        sv::status{sv::errc::value_not_finite, sv::part::decision_head, 3});
  CHECK(error([](data_set& d) { std::fill(d.labels.begin(), d.labels.end(), std::uint8_t{1}); }).code ==
        sv::errc::training_set_empty);
}

TEST_CASE("trainer: area under the curve by hand") {
  std::vector<std::pair<float, std::uint8_t>> scored{{0.1f, 0}, {0.4f, 1}, {0.4f, 0}, {0.9f, 1}};
  CHECK(sv::detail::area_under_curve(scored) == doctest::Approx(0.875));
  std::vector<std::pair<float, std::uint8_t>> one{{0.1f, 1}};
  CHECK(sv::detail::area_under_curve(one) == 0.5);
}
#endif
