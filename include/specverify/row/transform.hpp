// SPDX-License-Identifier: Apache-2.0
//! Describes how a model's logits become the final distribution: temperature, bias, mask and truncation in one value.
//!
//! The engine keeps the history and the grammar state, and passes a bias and a mask for each position. Each read of a
//! row, the drafter's or the target's, applies the steps in this order: bias, mask, temperature, truncation (whose
//! `order` field orders its own steps), normalization.
//! Guarantees: trivially copyable, non-owning. Requirements SMP-1..6.
//! Cost:       O(1); no allocation.
//! See:        docs/algorithms/transform.md, tests/unit/row/transform_test.cpp
#ifndef SPECVERIFY_ROW_TRANSFORM_HPP
#define SPECVERIFY_ROW_TRANSFORM_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>
#include <specverify/core/views.hpp>

#if __cplusplus >= 202002L
#include <span>
#endif

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Order of top-k and top-p. With `joint`, both conditions apply to the untruncated distribution; the other orders
//! renormalize between the two cuts.
enum class truncation_order : std::uint8_t { joint, top_k_then_top_p, top_p_then_top_k };

//! A cut of the distribution. Kept sets follow the total order (integer weight descending, id ascending), so every
//! backend keeps the same set.
struct row_truncation {
  std::uint32_t top_k = 0;  //!< 0: off
  double top_p = 1.0;       //!< (0, 1]; 1: off. Keeps the smallest prefix with mass >= top_p, up to rounding
  double min_p = 0.0;       //!< [0, 1]; 0: off. Keeps p(v) >= min_p * max p
  truncation_order order = truncation_order::top_k_then_top_p;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool active() const noexcept {
    return !SPECVERIFY_LIKELY(top_k == 0 && !(top_p < 1.0) && !(min_p > 0.0));
  }
  //! Returns whether top_p and min_p are in range.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool valid() const noexcept {
    return numeric::is_finite(top_p) && top_p > 0.0 && top_p <= 1.0 && numeric::is_finite(min_p) && min_p >= 0.0 &&
           min_p <= 1.0;
  }
};

#if __cplusplus >= 202002L
struct row_transform {
  //! [0, max_temperature]; below 1e-6: one-hot at the argmax, ties to the smaller id. Must be 1 or below 1e-6 for rows
  //! of probabilities
  double temperature = 1.0;
  std::span<const token_id> bias_ids{};         //!< strictly ascending
  std::span<const float> bias_values{};         //!< added to the logits of bias_ids; -infinity forbids
  std::span<const std::uint64_t> mask_words{};  //!< bit v % 64 of word v / 64 is set: v is allowed. Empty: all are
  row_truncation truncation{};

  [[nodiscard]] SPECVERIFY_INLINE constexpr bool greedy() const noexcept { return temperature < 1e-6; }
};
#endif  // C++20

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns whether a temperature is between 0 and max_temperature.
[[nodiscard]] SPECVERIFY_HD constexpr bool is_temperature(double value) noexcept {
  return numeric::is_finite(value) && value >= 0.0 && value <= max_temperature;
}

#if __cplusplus >= 202002L
//! Checks the temperature and the truncation of a transform.
//! Errors: under part::row: invalid_temperature (negative, NaN, above max_temperature), invalid_truncation (top_p
//!         outside (0, 1], min_p outside [0, 1]).
[[nodiscard]] constexpr status check(const row_transform& transform) noexcept {
  if (!is_temperature(transform.temperature)) return {errc::invalid_temperature, part::row, 0};
  return transform.truncation.valid() ? status{} : status{errc::invalid_truncation, part::row, 0};
}
#endif  // C++20

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
