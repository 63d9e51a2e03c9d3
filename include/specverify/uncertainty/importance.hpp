// SPDX-License-Identifier: Apache-2.0
//! Determines from attention weights whether a draft token is important.
//!
//! A token is important if at least k weights exceed max(A) - gamma * std(A), where A is the attention row. A larger k
//! makes the rule stricter, and a larger gamma makes it looser.
//! Paper:      Energy-Efficient Wireless LLM Inference via Uncertainty and Importance-Aware Speculative Decoding (arXiv
//!             2508.12590).
//! Symbols:    A = attention row of the query that produced the token's logits; std = population standard deviation; n
//!             = number of weights.
//! Rule:       the k-th largest weight > max(A) - gamma * std(A) + 1e-12 max(A), and n >= k. An option uses the mean of
//!             the k largest weights instead.
//! Guarantees: sums are in double, in ascending order; O(n), with 31 more passes for the mean; no allocation; noexcept.
//! Deviates:   the paper does not specify the attention row, the statistic of the k largest weights, or the kind of
//!             standard deviation. According to its text, rows with a few large weights should pass, but the rule
//!             passes rows with many weights near the largest. The option `inverted` selects the complement of the rule
//!             (if n >= k), which also passes exactly uniform rows.
//! See:        docs/algorithms/importance.md, tests/unit/uncertainty/importance_test.cpp
#ifndef SPECVERIFY_UNCERTAINTY_IMPORTANCE_HPP
#define SPECVERIFY_UNCERTAINTY_IMPORTANCE_HPP

#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>
#include <specverify/kernel/scalar/exponential.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

enum class importance_statistic : std::uint8_t { kth_largest, mean_of_top_k };

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the bit pattern of the k-th largest of n >= k weights. This works because non-negative floats have the same
//! order as their bit patterns.
[[nodiscard]] inline std::uint32_t kth_largest_bits(std::span<const float> weights, std::uint32_t k) noexcept {
  std::uint32_t bits = 0;
  for (std::uint32_t bit = std::uint32_t{1} << 30; bit != 0; bit >>= 1) {
    std::uint32_t reach = 0;
    for (const float weight : weights)
      reach += (kernel::bits_as<std::uint32_t>(weight) & 0x7FFFFFFFu) >= (bits | bit) ? 1u : 0u;
    if (reach >= k) bits |= bit;
  }
  return bits;
}

[[nodiscard]] inline double mean_of_largest(std::span<const float> weights, std::uint32_t k) noexcept {
  const std::uint32_t cut = kth_largest_bits(weights, k);
  double sum = 0;
  std::uint32_t above = 0;
  for (const float weight : weights) {
    if ((kernel::bits_as<std::uint32_t>(weight) & 0x7FFFFFFFu) <= cut) continue;
    sum += static_cast<double>(weight);
    ++above;
  }
  sum += numeric::product(static_cast<double>(k - above), static_cast<double>(kernel::bits_as<float>(cut)));
  return sum / static_cast<double>(k);
}

}  // namespace detail

struct importance_rule;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] inline status check(const importance_rule& rule) noexcept;

struct importance_rule {
  std::uint32_t k = 3;    //!< >= 1
  double gamma = 1.5;     //!< finite
  bool inverted = false;  //!< use the complement of the rule (if n >= k)
  importance_statistic statistic = importance_statistic::kth_largest;

  //! Returns whether the token is important.
  //! Errors: invalid_argument (k is 0, gamma not finite, unknown statistic), attention_missing (an empty row),
  //!         invalid_attention (a weight that is NaN, infinite or negative; `where` = its index).
  [[nodiscard]] result<bool> eligible(std::span<const float> attention) const noexcept {
    constexpr auto failed = [](errc code, std::size_t where) noexcept {
      return status{code, part::uncertainty, static_cast<std::uint32_t>(where)};
    };
    if (const status why = check(*this); !why.ok()) return why;
    if (attention.empty()) return failed(errc::attention_missing, 0);
    double sum = 0, largest = 0;
    for (std::size_t i = 0; i < attention.size(); ++i) {
      const float weight = attention[i];
      if (!kernel::is_finite(weight) || weight < 0.0f) return failed(errc::invalid_attention, i);
      sum += static_cast<double>(weight);
      largest = static_cast<double>(weight) > largest ? static_cast<double>(weight) : largest;
    }
    if (attention.size() < k) return false;
    const double mean = sum / static_cast<double>(attention.size());
    double squares = 0;
    for (const float weight : attention) {
      const double off = static_cast<double>(weight) - mean;
      squares += numeric::product(off, off);
    }
    const double deviation = std::sqrt(squares / static_cast<double>(attention.size()));
    const double bar = largest - numeric::product(gamma, deviation) + numeric::product(1e-12, largest);
    bool passes = false;
    if (statistic == importance_statistic::mean_of_top_k) {
      passes = detail::mean_of_largest(attention, k) > bar;
    } else {
      std::uint32_t above = 0;
      for (const float weight : attention) above += static_cast<double>(weight) > bar ? 1u : 0u;
      passes = above >= k;
    }
    return passes != inverted;
  }
};

inline status check(const importance_rule& rule) noexcept {
  if (rule.k == 0) return {errc::invalid_argument, part::uncertainty, 0};
  if (!kernel::is_finite(rule.gamma)) return {errc::invalid_argument, part::uncertainty, 1};
  return rule.statistic <= importance_statistic::mean_of_top_k ? status{}
                                                               : status{errc::invalid_argument, part::uncertainty, 3};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
