// SPDX-License-Identifier: Apache-2.0
//! Defines skip policies. A skip policy decides whether the edge uploads a drafted token for verification, or commits
//! the token without the cloud.
//!
//! Paper:      arXiv 2505.11788 (HLM: uploads always; Rand-HLM: at random; U-HLM and CU-HLM: uncertain tokens), arXiv
//!             2508.12590 (uncertain and important tokens).
//! Symbols:    u = disagreements / M with M samples. A token is uncertain if disagreements > floor(u_th M + 1e-9), in
//!             integers.
//! Guarantees: pure; no allocation; noexcept. The decision never depends on the target. Only with `always_send` does
//!             the text have the target's distribution, so all other policies are `lossy`.
//! Cost:       O(1), or O(n) for an attention row of n weights.
//! See:        docs/algorithms/skip.md, tests/unit/policy/skip_test.cpp, tests/law/skip_test.cpp
#ifndef SPECVERIFY_POLICY_SKIP_HPP
#define SPECVERIFY_POLICY_SKIP_HPP

#include <specverify/policy/concepts.hpp>
#include <specverify/policy/observe_skip.hpp>
#include <specverify/uncertainty/calibration.hpp>
#include <specverify/uncertainty/importance.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Sends each token with a fixed probability, as Rand-HLM does.
struct random_skip {
  double send_probability = 0.5;  //!< [0, 1]; if it is not finite, every token is sent

  static constexpr bool needs_uncertainty = false;
  static constexpr bool needs_attention = false;
  static constexpr bool needs_coin = true;
  static constexpr guarantee strength = guarantee::lossy;
  [[nodiscard]] bool send(const skip_observation& seen) const noexcept {
    return !kernel::is_finite(send_probability) || seen.coin < send_probability;
  }
};

//! Sends uncertain tokens, as U-HLM and CU-HLM do.
struct uncertainty_gate {
  double threshold = 0.8;  //!< u_th; if it is not finite, every token is sent
  perturbation_options perturbation{};

  static constexpr bool needs_uncertainty = true;
  static constexpr bool needs_attention = false;
  static constexpr bool needs_coin = false;
  static constexpr guarantee strength = guarantee::lossy;
  [[nodiscard]] bool uncertain(const skip_observation& seen) const noexcept {
    return static_cast<std::int64_t>(seen.disagreements) > disagreement_limit(threshold, seen.samples);
  }
  [[nodiscard]] bool send(const skip_observation& seen) const noexcept { return uncertain(seen); }
};

//! Sends tokens that are uncertain and important. If `importance` returns an error for the attention row, the token
//! counts as important, because an edge in doubt must send the token.
struct uncertainty_and_importance_gate {
  double threshold = 0.8;
  importance_rule importance{};
  perturbation_options perturbation{};

  static constexpr bool needs_uncertainty = true;
  static constexpr bool needs_attention = true;
  static constexpr bool needs_coin = false;
  static constexpr guarantee strength = guarantee::lossy;
  [[nodiscard]] bool uncertain(const skip_observation& seen) const noexcept {
    return uncertainty_gate{threshold, perturbation}.uncertain(seen);
  }
  [[nodiscard]] bool send(const skip_observation& seen) const noexcept {
    if (!uncertain(seen)) return false;
    const result<bool> important = importance.eligible(seen.attention);
    return !important.ok() || important.value();
  }
};

//! Checks a policy. Errors (`where` = field in order, from 0): invalid_probability.
[[nodiscard]] inline status check(const random_skip& skip) noexcept {
  const bool outside =
      kernel::is_finite(skip.send_probability) && (skip.send_probability < 0 || skip.send_probability > 1);
  return outside ? status{errc::invalid_probability, part::policy, 0} : status{};
}
//! Checks a policy. Errors (`where` = index of the field, from 0; the fields of the perturbation begin at 1):
//! invalid_argument.
[[nodiscard]] inline status check(const uncertainty_gate& gate) noexcept {
  const status why = check(gate.perturbation);
  return why.ok() ? why : status{why.code, part::policy, 1 + why.where};
}
//! Checks a policy. Errors (`where` = index of the field, from 0; the fields of the importance rule begin at 1, of the
//! perturbation at 5): invalid_argument.
[[nodiscard]] inline status check(const uncertainty_and_importance_gate& gate) noexcept {
  if (const status why = check(gate.importance); !why.ok()) return {why.code, part::policy, 1 + why.where};
  const status why = check(gate.perturbation);
  return why.ok() ? why : status{why.code, part::policy, 5 + why.where};
}

static_assert(skip_policy<always_send> && skip_policy<random_skip> && skip_policy<uncertainty_gate> &&
              skip_policy<uncertainty_and_importance_gate>);

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
