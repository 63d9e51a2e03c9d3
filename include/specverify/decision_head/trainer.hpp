// SPDX-License-Identifier: Apache-2.0
//! Trains a decision head on labelled mismatches, with AdamW, dropout, class weights and a validation set.
//!
//! Paper:      arXiv 2604.17701 (WISV), equations (25), (26) and the training pipeline.
//! Guarantees: the same seed, samples and machine give the same head. The result is the head with the least validation
//!             loss. No group (episode) is in both the training and the validation set, because samples of a group
//!             share hidden states.
//! Deviates:   the paper gives no optimizer settings, so the defaults are ours. By default, the weight of label 1 is
//!             N_0 / N_1, the ratio of training samples with label 0 to training samples with label 1. Training
//!             standardizes the hidden states, but the finished head takes raw states.
//! Cost:       O(samples * inputs * width) per training epoch; allocates.
//! See:        docs/algorithms/trainer.md, tests/unit/decision_head/trainer_test.cpp
#ifndef SPECVERIFY_DECISION_HEAD_TRAINER_HPP
#define SPECVERIFY_DECISION_HEAD_TRAINER_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/random.hpp>
#include <specverify/decision_head/detail/gradient.hpp>
#include <specverify/decision_head/training_data.hpp>
#include <specverify/decision_head/weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

struct epoch_report {
  std::uint32_t epoch = 0;     //!< training epoch, from 1
  double training_loss = 0;    //!< mean over the training epoch, with dropout
  double validation_loss = 0;  //!< weighted like the training loss, without dropout
  double validation_auc = 0;   //!< probability that a sample with label 1 scores above a sample with label 0
  bool best = false;           //!< least validation loss so far
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! A training run. Call `run_epoch` until `finished` returns true, then call `head`.
class head_trainer {
 public:
  //! The spans of `samples` must outlive the trainer.
  //! Errors: as for check(training_options) and check(training_samples); training_set_empty (the training or validation
  //!         part has no samples, or all training samples have the same label).
  [[nodiscard]] static result<head_trainer> make(const training_options& options,
                                                 const training_samples& samples) noexcept {
    if (const status why = check(options); !why.ok()) return why;
    if (const status why = check(samples, options.width); !why.ok()) return why;
    head_trainer made(options, samples);
    made.split();
    if (made.training_.empty() || made.validation_.empty()) return detail::head_error(errc::training_set_empty, 0);
    std::size_t ones = 0;
    for (const std::uint32_t i : made.training_) ones += samples.labels[i] != 0 ? 1u : 0u;
    if (ones == 0 || ones == made.training_.size()) return detail::head_error(errc::training_set_empty, 1);
    made.positive_weight_ = options.positive_weight > 0
                                ? options.positive_weight
                                : static_cast<double>(made.training_.size() - ones) / static_cast<double>(ones);
    if (const status why = made.standardise_inputs(); !why.ok()) return why;
    made.initialise();
    return made;
  }

  [[nodiscard]] bool finished() const noexcept { return epoch_ == options_.epochs; }
  [[nodiscard]] std::size_t training_size() const noexcept { return training_.size(); }
  [[nodiscard]] std::size_t validation_size() const noexcept { return validation_.size(); }
  [[nodiscard]] double positive_weight() const noexcept { return positive_weight_; }

  //! Runs one pass over the training samples, in a new order. Does nothing if `finished` is true.
  epoch_report run_epoch() {
    epoch_report report;
    report.epoch = epoch_;
    if (finished()) return report;
    shuffle();
    detail::adam_rates rates{options_.learning_rate * (2 * epoch_ >= options_.epochs ? options_.late_rate : 1.0),
                             options_.weight_decay};
    double loss = 0;
    for (std::size_t first = 0; first < training_.size(); first += options_.batch) {
      const std::size_t size = std::min<std::size_t>(options_.batch, training_.size() - first);
      gather(std::span(training_).subspan(first, size));
      detail::fill_dropout(mask_, options_.width, size, options_.dropout,
                           [this](std::uint32_t sample, std::uint32_t lane) { return words(sample, lane, 5); });
      loss += static_cast<double>(detail::mlp_loss<float>(now_, inputs_, labels_, static_cast<float>(positive_weight_),
                                                          mask_, &gradient_, buffers_)) *
              static_cast<double>(size);
      if (!options_.use_channel) gradient_.first.rightCols(channel_feature_count).setZero();
      detail::adam_step(now_, gradient_, mean_, square_, rates, ++step_);
    }
    report.epoch = ++epoch_;
    report.training_loss = loss / static_cast<double>(training_.size());
    validation found = validate();  // not const, because area_under_curve sorts the scores
    report.validation_loss = found.loss;
    report.validation_auc = detail::area_under_curve(found.scored);
    report.best = report.validation_loss < best_loss_ || epoch_ == 1;
    if (report.best) {
      best_loss_ = report.validation_loss;
      best_ = now_;
    }
    return report;
  }

  //! Returns the head of the best training epoch so far, or the initial head before the first. The threshold is 0.5.
  //! Errors: value_not_finite (training diverged).
  [[nodiscard]] result<decision_head> head() const {
    const Eigen::Index width = best_.first.rows(), inputs = best_.first.cols(),
                       states = inputs - static_cast<Eigen::Index>(channel_feature_count);
    std::vector<float> first(static_cast<std::size_t>(width * inputs)), bias(static_cast<std::size_t>(width)),
        second(bias.size());
    for (Eigen::Index k = 0; k < width; ++k) {
      double shift = static_cast<double>(best_.first_bias(k));
      for (Eigen::Index i = 0; i < inputs; ++i) {
        const auto weight = static_cast<double>(best_.first(k, i));
        const auto at = static_cast<std::size_t>(i);
        if (i < states) shift -= weight * input_mean_[at] / input_scale_[at];
        first[static_cast<std::size_t>(k * inputs + i)] =
            static_cast<float>(i < states ? weight / input_scale_[at] : weight);
      }
      bias[static_cast<std::size_t>(k)] = static_cast<float>(shift);
      second[static_cast<std::size_t>(k)] = best_.second(k);
    }
    return decision_head::make(head_weights{shape(), first, bias, second, best_.second_bias(0), channel_, 0.5});
  }

 private:
  head_trainer(const training_options& options, const training_samples& samples)
      : options_(options), samples_(samples) {
    source_.key = {{static_cast<std::uint32_t>(options.seed), static_cast<std::uint32_t>(options.seed >> 32)}};
  }

  [[nodiscard]] head_shape shape() const noexcept {
    return {samples_.mode, samples_.drafter_size, samples_.target_size, options_.width};
  }

  [[nodiscard]] random_block words(std::uint32_t position, std::uint32_t lane, std::uint32_t use) const noexcept {
    return source_(random_counter{position, static_cast<std::uint32_t>(step_), lane, purpose::training, use});
  }

  // One uniform per group decides whether the group is used for validation, so adding a group moves no other group.
  void split() {
    for (std::uint32_t i = 0; i < samples_.state.size(); ++i) {
      const double uniform = decision_uniform(words(samples_.group[samples_.state[i]], 0, 1));
      (uniform < options_.validation_share ? validation_ : training_).push_back(i);
    }
  }

  [[nodiscard]] float input(std::uint32_t sample, std::size_t feature) const noexcept {
    const std::size_t state = samples_.state[sample];
    if (feature < samples_.drafter_size) return samples_.drafter[state * samples_.drafter_size + feature];
    return samples_.target[state * samples_.target_size + feature - samples_.drafter_size];
  }

  [[nodiscard]] status standardise_inputs() {
    const std::size_t states = std::size_t{samples_.drafter_size} + samples_.target_size;
    const auto count = static_cast<double>(training_.size());
    input_mean_.assign(states, 0);
    input_scale_.assign(states, 0);
    for (const std::uint32_t sample : training_) {
      for (std::size_t i = 0; i < states; ++i) input_mean_[i] += static_cast<double>(input(sample, i)) / count;
    }
    for (const std::uint32_t sample : training_) {
      for (std::size_t i = 0; i < states; ++i) {
        const double off = static_cast<double>(input(sample, i)) - input_mean_[i];
        input_scale_[i] += off * off / count;
      }
    }
    for (std::size_t i = 0; i < states; ++i) {
      const double deviation = std::sqrt(input_scale_[i]);
      input_scale_[i] = deviation > 1e-6 * (std::fabs(input_mean_[i]) + 1e-6) ? deviation : 1.0;
    }
    std::vector<channel_vector> seen;
    seen.reserve(training_.size());
    for (const std::uint32_t sample : training_) seen.push_back(samples_.channel[sample]);
    const result<channel_standardisation> used = standardisation_of(seen);
    if (used) channel_ = *used;
    return used.error();
  }

  // Initial weights are uniform in +-sqrt(3 * 2 / inputs) and +-sqrt(3 / width), so their variances are 2 / inputs and
  // 1 / width.
  void initialise() {
    const auto width = static_cast<Eigen::Index>(options_.width),
               inputs = static_cast<Eigen::Index>(shape().input_size());
    for (detail::mlp_parameters<float>* each : {&now_, &gradient_, &mean_, &square_}) each->set_zero(width, inputs);
    const double range = std::sqrt(6.0 / static_cast<double>(inputs)),
                 top = std::sqrt(3.0 / static_cast<double>(width));
    for (Eigen::Index k = 0; k < width; ++k) {
      const auto row = static_cast<std::uint32_t>(k);
      for (Eigen::Index i = 0; i < inputs; ++i) {
        const bool off = !options_.use_channel && i >= inputs - static_cast<Eigen::Index>(channel_feature_count);
        if (!off)
          now_.first(k, i) =
              static_cast<float>(range * (2 * decision_uniform(words(row, static_cast<std::uint32_t>(i), 2)) - 1));
      }
      now_.second(k) = static_cast<float>(top * (2 * decision_uniform(words(row, 0, 3)) - 1));
    }
    best_ = now_;
  }

  void shuffle() {
    for (std::size_t left = training_.size(); left > 1; --left) {
      const random_counter counter{static_cast<std::uint32_t>(left), epoch_, 0, purpose::training, 4};
      std::swap(training_[left - 1], training_[static_cast<std::size_t>(uniform_integer(source_, counter, left))]);
    }
  }

  void gather(std::span<const std::uint32_t> samples) {
    const std::size_t states = input_mean_.size();
    inputs_.resize(static_cast<Eigen::Index>(states + channel_feature_count),
                   static_cast<Eigen::Index>(samples.size()));
    labels_.resize(static_cast<Eigen::Index>(samples.size()));
    for (std::size_t s = 0; s < samples.size(); ++s) {
      float* to = inputs_.data() + s * (states + channel_feature_count);
      for (std::size_t i = 0; i < states; ++i)
        to[i] = static_cast<float>((static_cast<double>(input(samples[s], i)) - input_mean_[i]) / input_scale_[i]);
      const channel_vector c = standardise(samples_.channel[samples[s]], channel_);
      for (std::size_t i = 0; i < channel_feature_count; ++i) to[states + i] = options_.use_channel ? c[i] : 0;
      labels_(static_cast<Eigen::Index>(s)) = samples_.labels[samples[s]] != 0 ? 1.0f : 0.0f;
    }
  }

  //! Result of a validation: the mean weighted loss, and the pair (logit, label) of each sample.
  struct validation {
    double loss = 0;
    std::vector<std::pair<float, std::uint8_t>> scored{};
  };
  [[nodiscard]] validation validate() {
    const detail::matrix<float> none;
    validation found;
    found.scored.reserve(validation_.size());
    for (std::size_t first = 0; first < validation_.size(); first += 1024) {
      const std::size_t size = std::min<std::size_t>(1024, validation_.size() - first);
      gather(std::span(validation_).subspan(first, size));
      found.loss += static_cast<double>(detail::mlp_loss<float>(
                        now_, inputs_, labels_, static_cast<float>(positive_weight_), none, nullptr, buffers_)) *
                    static_cast<double>(size);
      for (std::size_t s = 0; s < size; ++s)
        found.scored.emplace_back(buffers_.logits(static_cast<Eigen::Index>(s)),
                                  samples_.labels[validation_[first + s]]);
    }
    found.loss /= static_cast<double>(validation_.size());
    return found;
  }

  training_options options_;
  training_samples samples_;
  philox source_{};
  std::vector<std::uint32_t> training_{}, validation_{};
  std::vector<double> input_mean_{}, input_scale_{};
  channel_standardisation channel_{};
  double positive_weight_ = 1;
  detail::mlp_parameters<float> now_{}, best_{}, gradient_{}, mean_{}, square_{};
  detail::mlp_buffers<float> buffers_{};
  detail::matrix<float> inputs_{}, mask_{};
  detail::column<float> labels_{};
  double best_loss_ = 0;
  std::uint64_t step_ = 0;
  std::uint32_t epoch_ = 0;
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
