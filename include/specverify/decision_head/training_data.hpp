// SPDX-License-Identifier: Apache-2.0
//! Defines the input for training a decision head: options, views of labelled samples, and their checks.
//!
//! Include it to collect samples. Unlike the trainer, it does not need Eigen.
//! Paper:      arXiv 2604.17701 (WISV), the training pipeline.
//! Symbols:    S = mismatches with hidden states, N = samples.
//! Guarantees: options and views are trivially copyable. A check reads every number once, O(S d_in + N) for a head with
//!             d_in inputs; no allocation.
//! See:        docs/algorithms/trainer.md, tests/unit/decision_head/training_data_test.cpp
#ifndef SPECVERIFY_DECISION_HEAD_TRAINING_DATA_HPP
#define SPECVERIFY_DECISION_HEAD_TRAINING_DATA_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/decision_head/features.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

struct training_options {
  std::uint32_t width = 256;      //!< w, hidden units, 1..2^16
  double dropout = 0.1;           //!< probability that a hidden unit is dropped in a training step, in [0, 1)
  double learning_rate = 1e-3;    //!< > 0
  double late_rate = 1.0;         //!< factor of the learning rate in the second half of the training epochs, > 0
  double weight_decay = 1e-2;     //!< weight decay of W_1 and w_2, >= 0
  double positive_weight = 0;     //!< weight of a sample with label 1; 0: N_0 / N_1 (decision_head/trainer.hpp)
  double validation_share = 0.1;  //!< expected share of the groups used for validation, in (0, 1)
  std::uint32_t batch = 256;      //!< >= 1
  std::uint32_t epochs = 20;      //!< >= 1
  bool use_channel = true;        //!< false: the head ignores c (its weights stay 0), for ablation studies
  std::uint64_t seed = 1;
};

//! Labelled samples. Several samples can share the states of one mismatch and differ only in their channels.
struct training_samples {
  hidden_mode mode = hidden_mode::predicting;
  std::uint32_t drafter_size = 0;
  std::uint32_t target_size = 0;
  std::span<const float> drafter{};           //!< S x drafter_size
  std::span<const float> target{};            //!< S x target_size
  std::span<const std::uint32_t> group{};     //!< S: number of the episode of each mismatch
  std::span<const std::uint32_t> state{};     //!< N: index of the mismatch of each sample
  std::span<const channel_vector> channel{};  //!< N: c, not standardized
  std::span<const std::uint8_t> labels{};     //!< N: 1 = reject
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks the options. Errors: invalid_argument, `where` = index of the field (from 0).
[[nodiscard]] constexpr status check(const training_options& o) noexcept {
  const auto bad = [](std::size_t index) { return detail::head_error(errc::invalid_argument, index); };
  if (o.width == 0 || o.width > max_head_size) return bad(0);
  if (!numeric::is_finite(o.dropout) || o.dropout < 0 || o.dropout >= 1) return bad(1);
  if (!numeric::is_finite(o.learning_rate) || !(o.learning_rate > 0)) return bad(2);
  if (!numeric::is_finite(o.late_rate) || !(o.late_rate > 0)) return bad(3);
  if (!numeric::is_finite(o.weight_decay) || o.weight_decay < 0) return bad(4);
  if (!numeric::is_finite(o.positive_weight) || o.positive_weight < 0) return bad(5);
  if (!numeric::is_finite(o.validation_share) || o.validation_share <= 0 || o.validation_share >= 1) return bad(6);
  if (o.batch == 0) return bad(7);
  return o.epochs == 0 ? bad(8) : status{};
}

//! Checks that the arrays of the samples have matching sizes and finite numbers, for a head of `width` hidden units.
//! Errors: as for check(head_shape); size_mismatch (`where` = 20 drafter, 21 target, 22 state or channel or labels, 23
//!         a state index); value_not_finite (`where` = index of the number, or of the sample with that channel).
[[nodiscard]] constexpr status check(const training_samples& s, std::uint32_t width) noexcept {
  if (const status why = check(head_shape{s.mode, s.drafter_size, s.target_size, width}); !why.ok()) return why;
  if (s.drafter.size() != s.group.size() * s.drafter_size) return detail::head_error(errc::size_mismatch, 20);
  if (s.target.size() != s.group.size() * s.target_size) return detail::head_error(errc::size_mismatch, 21);
  if (s.channel.size() != s.state.size() || s.labels.size() != s.state.size())
    return detail::head_error(errc::size_mismatch, 22);
  for (const std::uint32_t state : s.state) {
    if (state >= s.group.size()) return detail::head_error(errc::size_mismatch, 23);
  }
  for (const std::span<const float> values : {s.drafter, s.target}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!numeric::is_finite(values[i])) return detail::head_error(errc::value_not_finite, i);
    }
  }
  for (std::size_t i = 0; i < s.channel.size(); ++i) {
    for (const float c : s.channel[i]) {
      if (!numeric::is_finite(c)) return detail::head_error(errc::value_not_finite, i);
    }
  }
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
