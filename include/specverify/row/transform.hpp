// SPDX-License-Identifier: Apache-2.0
//! What stands between a model's logits and its final law: temperature, sparse bias, mask, truncation. One pure value.
//!
//! The same function is applied to drafter and target rows, inside the one read of the row. History and grammar state
//! stay in the engine, which passes bias and mask per position. Order: bias, mask, temperature, truncation (in its
//! stated order), normalisation.
//! Guarantees: trivially copyable, non-owning. Requirements SMP-1..6.
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

//! In which order top-k and top-p cut. `joint`: both conditions on the untruncated law; the others renormalise in
//! between.
enum class truncation_order : std::uint8_t { joint, top_k_then_top_p, top_p_then_top_k };

//! A cut of the law. Kept sets follow the total order (weight descending, id ascending) on integer weights, so every
//! backend keeps the same set.
struct row_truncation {
  std::uint32_t top_k = 0;  //!< 0: off
  double top_p = 1.0;       //!< (0, 1]; 1: off. Smallest prefix of the order whose mass is >= top_p, up to roundings
  double min_p = 0.0;       //!< [0, 1]; 0: off. Keeps q(v) >= min_p * max q
  truncation_order order = truncation_order::top_k_then_top_p;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool active() const noexcept {
    return !SPECVERIFY_LIKELY(top_k == 0 && !(top_p < 1.0) && !(min_p > 0.0));
  }
  //! Whether top_p and min_p are in their ranges.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool valid() const noexcept {
    return numeric::is_finite(top_p) && top_p > 0.0 && top_p <= 1.0 && numeric::is_finite(min_p) && min_p >= 0.0 &&
           min_p <= 1.0;
  }
};

#if __cplusplus >= 202002L
struct row_transform {
  //! >= 0; below 1e-6: one-hot at the argmax, ties to the smaller id. Rows of probabilities take 1 or 0 only
  double temperature = 1.0;
  std::span<const token_id> bias_ids{};         //!< strictly ascending
  std::span<const float> bias_values{};         //!< added to the logits of bias_ids; -infinity forbids
  std::span<const std::uint64_t> mask_words{};  //!< bit v of word v / 64 set: v is allowed. Empty: all allowed
  row_truncation truncation{};

  [[nodiscard]] SPECVERIFY_INLINE constexpr bool greedy() const noexcept { return temperature < 1e-6; }
};
#endif  // C++20

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! From 0 to max_temperature.
[[nodiscard]] SPECVERIFY_HD constexpr bool is_temperature(double value) noexcept {
  return numeric::is_finite(value) && value >= 0.0 && value <= max_temperature;
}

#if __cplusplus >= 202002L
//! What can be said of a transform without a row. Errors, under part::row: invalid_temperature (negative, NaN, above
//! max_temperature), invalid_truncation (top_p outside (0, 1], min_p outside [0, 1]).
[[nodiscard]] constexpr status check(const row_transform& transform) noexcept {
  if (!is_temperature(transform.temperature)) return {errc::invalid_temperature, part::row, 0};
  return transform.truncation.valid() ? status{} : status{errc::invalid_truncation, part::row, 0};
}
#endif  // C++20

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
