// SPDX-License-Identifier: Apache-2.0
//! Builds the input of a decision head: the drafter's and the target's hidden states at one position, and the state of
//! the channel.
//!
//! Paper:      arXiv 2604.17701 (WISV), equation (23): z_i = [h^D_i ; h^T_i ; c_r].
//! Symbols:    h^D, h^T = hidden states of drafter and target; c = (log10 R_u, log10 R_d, eps_u, eps_d, rtt), the
//!             channel's rates, loss rates and round trip, standardized to (c - mean) / scale; d_in = number of inputs.
//! Guarantees: no allocation, noexcept. Near-tie: the floats can differ between machines.
//! Deviates:   the features of c, and the choice of hidden states by `hidden_mode`, are ours.
//! Cost:       O(d_in).
//! See:        docs/algorithms/features.md, tests/unit/decision_head/features_test.cpp
#ifndef SPECVERIFY_DECISION_HEAD_FEATURES_HPP
#define SPECVERIFY_DECISION_HEAD_FEATURES_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

inline constexpr std::size_t channel_feature_count = 5;
inline constexpr std::uint32_t max_head_size = std::uint32_t{1} << 16;

//! Selects the hidden states that belong to the position of a draft x_i.
enum class hidden_mode : std::uint8_t {
  predicting = 0,  //!< outputs at the input before x_i, whose logits give the distributions of x_i
  //! outputs at input x_i; the drafter needs one more pass, because the last draft is otherwise no input
  consuming = 1
};

using channel_vector = std::array<float, channel_feature_count>;

//! The head receives c as (c - mean) / scale.
struct channel_standardisation {
  channel_vector mean{};
  channel_vector scale{1, 1, 1, 1, 1};  //!< > 0
};

//! Training setup of a head; stored with the weights.
struct head_shape {
  hidden_mode mode = hidden_mode::predicting;
  std::uint32_t drafter_size = 0;  //!< d_D, 1..2^16
  std::uint32_t target_size = 0;   //!< d_T, numbers in the target's hidden state, 0..2^16
  std::uint32_t width = 0;         //!< w, width of the hidden layer, 1..2^16

  [[nodiscard]] SPECVERIFY_INLINE constexpr std::size_t input_size() const noexcept {
    return std::size_t{drafter_size} + target_size + channel_feature_count;
  }
  friend SPECVERIFY_INLINE constexpr bool operator==(const head_shape&, const head_shape&) noexcept = default;
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

[[nodiscard]] constexpr status head_error(errc code, std::size_t where) noexcept {
  return {code, part::decision_head, static_cast<std::uint32_t>(where)};
}

}  // namespace detail

//! Any type with the two rates (bit/s), the two packet error rates and the round trip (s): for example a channel state,
//! or a received channel report.
template <class Channel>
concept channel_description = requires(const Channel& channel) {
  { channel.uplink_rate } -> std::convertible_to<double>;
  { channel.downlink_rate } -> std::convertible_to<double>;
  { channel.uplink_loss } -> std::convertible_to<double>;
  { channel.downlink_loss } -> std::convertible_to<double>;
  { channel.round_trip } -> std::convertible_to<double>;
};

//! Checks a shape. Errors: invalid_argument, `where` = index of the field (0 mode, 1 drafter_size, 2 target_size, 3
//! width).
[[nodiscard]] constexpr status check(const head_shape& shape) noexcept {
  if (shape.mode > hidden_mode::consuming) return detail::head_error(errc::invalid_argument, 0);
  if (shape.drafter_size == 0 || shape.drafter_size > max_head_size)
    return detail::head_error(errc::invalid_argument, 1);
  if (shape.target_size > max_head_size) return detail::head_error(errc::invalid_argument, 2);
  if (shape.width == 0 || shape.width > max_head_size) return detail::head_error(errc::invalid_argument, 3);
  return {};
}

//! Checks that an engine's hidden states match the states that the head was trained on.
//! Errors: hidden_mode_mismatch; size_mismatch, `where` = 1 (drafter), 2 (target).
[[nodiscard]] constexpr status check_states(const head_shape& shape, hidden_mode mode, std::size_t drafter_size,
                                            std::size_t target_size) noexcept {
  if (mode != shape.mode) return detail::head_error(errc::hidden_mode_mismatch, 0);
  if (drafter_size != shape.drafter_size) return detail::head_error(errc::size_mismatch, 1);
  if (target_size != shape.target_size) return detail::head_error(errc::size_mismatch, 2);
  return {};
}

//! Returns c of a channel, before standardization.
//! Errors: invalid_rate (0, 1), invalid_loss (2, 3), invalid_duration (4); `where` = index of the field.
template <channel_description Channel>
[[nodiscard]] result<channel_vector> channel_features(const Channel& channel) noexcept {
  const std::array<double, channel_feature_count> fields{
      static_cast<double>(channel.uplink_rate), static_cast<double>(channel.downlink_rate),
      static_cast<double>(channel.uplink_loss), static_cast<double>(channel.downlink_loss),
      static_cast<double>(channel.round_trip)};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool finite = numeric::is_finite(fields[i]);
    if (i < 2 && !(finite && fields[i] > 0)) return detail::head_error(errc::invalid_rate, i);
    if (i >= 2 && i < 4 && !(finite && fields[i] >= 0 && fields[i] < 1))
      return detail::head_error(errc::invalid_loss, i);
    if (i == 4 && !(finite && fields[i] >= 0)) return detail::head_error(errc::invalid_duration, i);
  }
  channel_vector c{};
  for (std::size_t i = 0; i < fields.size(); ++i) c[i] = static_cast<float>(i < 2 ? std::log10(fields[i]) : fields[i]);
  return c;
}

//! Returns the mean of each feature, and the population standard deviation as scale. Both are accumulated in double in
//! two passes. If a feature does not vary, the scale is 1. Errors: size_mismatch (no vector).
[[nodiscard]] inline result<channel_standardisation> standardisation_of(
    std::span<const channel_vector> observed) noexcept {
  if (observed.empty()) return detail::head_error(errc::size_mismatch, 0);
  channel_standardisation made;
  const auto count = static_cast<double>(observed.size());
  for (std::size_t i = 0; i < channel_feature_count; ++i) {
    double sum = 0, squares = 0;
    for (const channel_vector& c : observed) sum += static_cast<double>(c[i]);
    const double mean = sum / count;
    for (const channel_vector& c : observed) {
      const double off = static_cast<double>(c[i]) - mean;
      squares += numeric::product(off, off);
    }
    const double deviation = std::sqrt(squares / count);
    made.mean[i] = static_cast<float>(mean);
    made.scale[i] = deviation > 1e-6 * (std::fabs(mean) + 1e-6) ? static_cast<float>(deviation) : 1.0f;
  }
  return made;
}

//! Checks the values. Errors: value_not_finite; invalid_argument (a scale that is not positive); `where` = index of the
//! feature.
[[nodiscard]] constexpr status check(const channel_standardisation& used) noexcept {
  for (std::size_t i = 0; i < channel_feature_count; ++i) {
    if (!numeric::is_finite(used.mean[i]) || !numeric::is_finite(used.scale[i]))
      return detail::head_error(errc::value_not_finite, i);
    if (!(used.scale[i] > 0)) return detail::head_error(errc::invalid_argument, i);
  }
  return {};
}

[[nodiscard]] constexpr channel_vector standardise(const channel_vector& c,
                                                   const channel_standardisation& used) noexcept {
  channel_vector out{};
  for (std::size_t i = 0; i < channel_feature_count; ++i) out[i] = (c[i] - used.mean[i]) / used.scale[i];
  return out;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
