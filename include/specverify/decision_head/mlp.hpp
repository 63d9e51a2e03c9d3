// SPDX-License-Identifier: Apache-2.0
//! Evaluates the decision head, a network with one hidden layer that estimates how likely a mismatched draft changes
//! the meaning.
//!
//! Paper:      arXiv 2604.17701 (WISV), equations (24), (25), (27); the split evaluation is ours.
//! Symbols:    g = w_2' ReLU(W_1 z + b_1) + b_2, the logit of the inputs z (decision_head/features.hpp); rho = 1 / (1 +
//!             e^-g), the score; tau = threshold; w = width; d_in = number of inputs.
//! Guarantees: O(w d_in); no allocation; noexcept. Sums have a fixed order, so a batch gives the same bits as single
//!             positions. Near-tie: builds that fuse products and sums differ by less than 4e-7 sum|w_2| in a test with
//!             6149 inputs below 1 and weights below 1/4.
//! Deviates:   the device can send the w numbers W_1D h^D instead of the hidden state h^D (W_1D is the part of W_1 for
//!             h^D). For example, if w = 256, int8 takes one sixteenth of the bytes of 2048 float16 numbers, and
//!             changes g by at most `part_bound`.
//! See:        docs/algorithms/mlp.md, tests/unit/decision_head/mlp_test.cpp (T26), benchmarks/bench_mlp.cpp
#ifndef SPECVERIFY_DECISION_HEAD_MLP_HPP
#define SPECVERIFY_DECISION_HEAD_MLP_HPP

#include <specverify/codec/hidden_code.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/decision_head/features.hpp>
#include <specverify/kernel/lane_dots.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! A view of a head: the weights, the training setup, the standardization of c, and the threshold.
struct head_weights {
  head_shape shape{};
  std::span<const float> first{};       //!< w x d_in, row major
  std::span<const float> first_bias{};  //!< w
  std::span<const float> second{};      //!< w
  float second_bias = 0;
  channel_standardisation channel{};
  double threshold = 0.5;  //!< tau, >= 0; above 1: accepts all scored drafts
};

//! Selects the input that a head receives from the drafter's side.
enum class drafter_input : std::uint8_t {
  hidden_state,  //!< h^D, drafter_size numbers
  device_part    //!< W_1D h^D, width numbers, from `device_part`
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the number of parameters of a head: w (d_in + 1) + w + 1.
[[nodiscard]] constexpr std::size_t parameter_count(const head_shape& shape) noexcept {
  return static_cast<std::size_t>((saturating(shape.width) * (shape.input_size() + 1) + shape.width + 1).value);
}

//! Returns how many numbers the device sends per position.
[[nodiscard]] constexpr std::uint32_t upload_size(const head_shape& shape, drafter_input sent) noexcept {
  return sent == drafter_input::hidden_state ? shape.drafter_size : shape.width;
}

//! Returns tau = step / 16. The paper's figures use the steps 0 to 17, of which 17 accepts all scored drafts.
[[nodiscard]] constexpr double threshold_of_sixteenths(std::uint32_t step) noexcept {
  return static_cast<double>(step) / 16.0;
}

//! Checks a head. O(parameters).
//! Errors: as for check(head_shape) and check(channel_standardisation); size_mismatch (`where` = 10 first, 11
//!         first_bias, 12 second); value_not_finite (a weight); invalid_argument (`where` = 13: the threshold is NaN,
//!         infinite or negative).
[[nodiscard]] constexpr status check(const head_weights& head) noexcept {
  if (const status why = check(head.shape); !why.ok()) return why;
  if (head.first.size() != head.shape.width * head.shape.input_size())
    return detail::head_error(errc::size_mismatch, 10);
  if (head.first_bias.size() != head.shape.width) return detail::head_error(errc::size_mismatch, 11);
  if (head.second.size() != head.shape.width) return detail::head_error(errc::size_mismatch, 12);
  if (const status why = check(head.channel); !why.ok()) return why;
  for (const std::span<const float> values :
       {head.first, head.first_bias, head.second, std::span<const float>(&head.second_bias, 1)}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!numeric::is_finite(values[i])) return detail::head_error(errc::value_not_finite, i);
    }
  }
  if (!numeric::is_finite(head.threshold) || head.threshold < 0) return detail::head_error(errc::invalid_argument, 13);
  return {};
}

namespace detail {

[[nodiscard]] constexpr bool has_arrays(const head_weights& head) noexcept {
  const std::size_t width = head.shape.width;
  return head.first.size() == width * head.shape.input_size() && head.first_bias.size() == width &&
         head.second.size() == width;
}

//! Writes to `out` the products of `input` with out.size() rows of a matrix, which begin `stride` numbers apart.
inline void rows_times(const float* rows, std::size_t stride, std::span<const float> input,
                       std::span<float> out) noexcept {
  constexpr std::uint32_t most = kernel::dot_rows<1>;
  for (std::size_t first = 0; first < out.size(); first += most) {
    const std::size_t left = out.size() - first;
    kernel::lane_dots<1>(exec::simd, {rows + first * stride, stride, input.data(), 0, input.size()},
                         left < most ? static_cast<std::uint32_t>(left) : most, out.data() + first);
  }
}

//! The hidden states of consecutive positions, one row per position.
struct position_states {
  drafter_input given = drafter_input::hidden_state;
  const float* drafter = nullptr;
  const float* target = nullptr;
};

//! Computes the logits of `Positions` positions at once. `refused` of a position is 0, or 1 + the index of the first
//! hidden unit whose value is not finite.
template <std::uint32_t Positions>
inline void position_logits(const head_weights& head, const position_states& states, const channel_vector& channel,
                            std::span<double> logits, std::span<std::uint32_t> refused) noexcept {
  constexpr std::uint32_t most = kernel::dot_rows<Positions>;
  const std::size_t stride = head.shape.input_size(), upload = upload_size(head.shape, states.given);
  const bool whole = states.given == drafter_input::hidden_state;
  float parts[most * Positions], targets[most * Positions], channels[most];
  for (std::uint32_t i = 0; i < Positions; ++i) {
    logits[i] = static_cast<double>(head.second_bias);
    refused[i] = 0;
  }
  for (std::uint32_t first = 0; first < head.shape.width; first += most) {
    const std::uint32_t left = head.shape.width - first, rows = left < most ? left : most;
    const float* row = head.first.data() + first * stride;
    if (whole) kernel::lane_dots<Positions>(exec::simd, {row, stride, states.drafter, upload, upload}, rows, parts);
    row += head.shape.drafter_size;
    const std::size_t size = head.shape.target_size;
    kernel::lane_dots<Positions>(exec::simd, {row, stride, states.target, size, size}, rows, targets);
    rows_times(row + size, stride, channel, {channels, rows});
    for (std::uint32_t r = 0; r < rows; ++r) {
      for (std::uint32_t i = 0; i < Positions; ++i) {
        float unit = head.first_bias[first + r];
        unit += whole ? parts[r * Positions + i] : states.drafter[i * upload + first + r];
        unit += targets[r * Positions + i];
        unit += channels[r];
        if (!numeric::is_finite(unit) && refused[i] == 0) refused[i] = first + r + 1;
        if (unit > 0) logits[i] += static_cast<double>(head.second[first + r]) * static_cast<double>(unit);
      }
    }
  }
}

}  // namespace detail

//! Returns rho of a logit. Near-tie.
[[nodiscard]] inline double sigmoid(double logit) noexcept {
  const double tail = std::exp(logit < 0 ? logit : -logit);  // in (0, 1]
  return (logit < 0 ? tail : 1.0) / (1.0 + tail);
}

//! Writes W_1D h^D to `out` (w numbers), which the device sends instead of h^D.
//! Errors: size_mismatch (`where` = 1 hidden, 2 out, 10 the arrays of a head that was not checked).
[[nodiscard]] inline result<std::span<float>> device_part(const head_weights& head, std::span<const float> hidden,
                                                          std::span<float> out) noexcept {
  if (hidden.size() != head.shape.drafter_size) return detail::head_error(errc::size_mismatch, 1);
  if (out.size() != head.shape.width) return detail::head_error(errc::size_mismatch, 2);
  if (!detail::has_arrays(head)) return detail::head_error(errc::size_mismatch, 10);
  detail::rows_times(head.first.data(), head.shape.input_size(), hidden, out);
  return out;
}

//! Returns g of one position. `drafter` is h^D or the output of `device_part`; `channel` must be standardized.
//! Errors: size_mismatch (`where` = 1 drafter, 2 target, 10 the arrays of a head that was not checked);
//!         value_not_finite (an input that is not finite, or overflow; `where` = hidden unit).
[[nodiscard]] inline result<double> head_logit(const head_weights& head, drafter_input given,
                                               std::span<const float> drafter, std::span<const float> target,
                                               const channel_vector& channel) noexcept {
  if (drafter.size() != upload_size(head.shape, given)) return detail::head_error(errc::size_mismatch, 1);
  if (target.size() != head.shape.target_size) return detail::head_error(errc::size_mismatch, 2);
  if (!detail::has_arrays(head)) return detail::head_error(errc::size_mismatch, 10);
  double logit = 0;
  std::uint32_t refused = 0;
  detail::position_logits<1>(head, {given, drafter.data(), target.data()}, channel, {&logit, 1}, {&refused, 1});
  if (refused != 0) return detail::head_error(errc::value_not_finite, refused - 1);
  return logit;
}

//! Returns g of `out.size()` positions that share a channel, with the same bits as head_logit. Reads the weights once
//! for every four positions. `drafter` and `target` have one row per position. After an error, `out` is unspecified.
//! Errors: size_mismatch (`where` = 1 drafter, 2 target, 10 the arrays of a head that was not checked);
//! value_not_finite (an input that is not finite, or overflow; `where` = position).
[[nodiscard]] inline result<std::span<double>> head_logits(const head_weights& head, drafter_input given,
                                                           std::span<const float> drafter,
                                                           std::span<const float> target, const channel_vector& channel,
                                                           std::span<double> out) noexcept {
  const std::size_t upload = upload_size(head.shape, given), height = head.shape.target_size;
  if (drafter.size() != out.size() * upload) return detail::head_error(errc::size_mismatch, 1);
  if (target.size() != out.size() * height) return detail::head_error(errc::size_mismatch, 2);
  if (!detail::has_arrays(head)) return detail::head_error(errc::size_mismatch, 10);
  std::array<std::uint32_t, kernel::dot_inputs> refused{};
  for (std::size_t first = 0, taken = 0; first < out.size(); first += taken) {
    const std::size_t left = out.size() - first;
    taken = left < kernel::dot_inputs ? left : kernel::dot_inputs;
    const auto score = taken == 4   ? detail::position_logits<4>
                       : taken == 3 ? detail::position_logits<3>
                       : taken == 2 ? detail::position_logits<2>
                                    : detail::position_logits<1>;
    score(head, {given, drafter.data() + first * upload, target.data() + first * height}, channel,
          out.subspan(first, taken), refused);
    for (std::size_t i = 0; i < taken; ++i) {
      if (refused[i] != 0) return detail::head_error(errc::value_not_finite, first + i);
    }
  }
  return out;
}

//! Returns rho of one position, in [0, 1]. Errors: as for head_logit.
[[nodiscard]] inline result<double> head_score(const head_weights& head, drafter_input given,
                                               std::span<const float> drafter, std::span<const float> target,
                                               const channel_vector& channel) noexcept {
  const result<double> logit = head_logit(head, given, drafter, target, channel);
  if (!logit) return logit.error();
  return sigmoid(*logit);
}

//! Returns rho of `out.size()` positions that share a channel. Errors: as for head_logits.
[[nodiscard]] inline result<std::span<double>> head_scores(const head_weights& head, drafter_input given,
                                                           std::span<const float> drafter,
                                                           std::span<const float> target, const channel_vector& channel,
                                                           std::span<double> out) noexcept {
  const auto logits = head_logits(head, given, drafter, target, channel, out);
  if (!logits) return logits.error();
  for (double& value : out) value = sigmoid(value);
  return out;
}

//! Returns a bound on the change of g if `part`, the output of `device_part`, is sent as `format`. The bound depends on
//! each number for float16, and on the scale for int8 (max|part| / 127, rounded up to 17 bits). It includes the
//! rounding of the sum. Returns infinity for hidden_format::none.
[[nodiscard]] inline double part_bound(const head_weights& head, std::span<const float> part,
                                       hidden_format format) noexcept {
  double largest = 0, weight = 0, halves = 0;
  for (std::size_t k = 0; k < part.size() && k < head.second.size(); ++k) {
    const double size = std::fabs(static_cast<double>(part[k])), w = std::fabs(static_cast<double>(head.second[k]));
    largest = size > largest ? size : largest;
    weight += w;
    halves += w * (size * 0x1p-11 + 0x1p-25);
  }
  const double rounding = weight * largest * 0x1p-20;
  if (format == hidden_format::float16) return halves + rounding;
  if (format == hidden_format::int8) return largest / 127 * (0.5 + 0x1p-16) * weight + rounding;
  return std::bit_cast<double>(std::uint64_t{0x7FF0000000000000u});
}

//! A scorer for semantic_rule. `drafter` and `target` must have one row per draft of the round, of `upload_size` and
//! `target_size` numbers.
struct head_scorer {
  head_weights head{};
  drafter_input given = drafter_input::hidden_state;
  std::span<const float> drafter{};
  std::span<const float> target{};
  channel_vector channel{};  //!< standardized

  //! Returns rho of one draft. Errors: size_mismatch (`where` = draft without states), value_not_finite.
  [[nodiscard]] result<double> score(std::uint32_t draft_index) const noexcept {
    const std::size_t width = upload_size(head.shape, given), height = head.shape.target_size;
    if ((std::size_t{draft_index} + 1) * width > drafter.size() ||
        (std::size_t{draft_index} + 1) * height > target.size()) {
      return detail::head_error(errc::size_mismatch, draft_index);
    }
    return head_score(head, given, drafter.subspan(draft_index * width, width),
                      target.subspan(draft_index * height, height), channel);
  }
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
