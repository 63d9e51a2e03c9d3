// SPDX-License-Identifier: Apache-2.0
//! Measures the inputs of a skip policy for a drafted token: its uncertainty, a random number, and the attention row.
//!
//! Use it before `skip.send(seen)` if you draft without a session.
//! Paper:      arXiv 2505.11788 (U-HLM, CU-HLM), arXiv 2508.12590; see policy/skip.hpp.
//! Guarantees: a pure function of (row, token, attention, uniforms); no allocation; noexcept. It draws only the random
//!             numbers that the policy needs, with purposes 4 and 5 (uncertainty) and 10.
//! Cost:       at most O(V) per sample if the policy needs uncertainty; O(n) for an attention row of n weights;
//!             otherwise O(1).
//! See:        docs/algorithms/skip.md, tests/unit/policy/observe_skip_test.cpp, tests/law/skip_test.cpp
#ifndef SPECVERIFY_POLICY_OBSERVE_SKIP_HPP
#define SPECVERIFY_POLICY_OBSERVE_SKIP_HPP

#include <specverify/policy/concepts.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the workspace bytes that `observe_skip` takes and releases.
template <skip_policy Skip>
[[nodiscard]] constexpr std::size_t skip_workspace_size(std::uint32_t vocab_size) noexcept {
  return Skip::needs_uncertainty ? perturbation_workspace_size(vocab_size) : 0;
}

namespace detail {

//! Measures the disagreements on `row` if this reading serves the purpose, and otherwise on a new reading of the row.
//! Releases the workspace that it takes.
template <execution_policy Policy, class Scalar, uniform_source Source>
[[nodiscard]] result<disagreement> measure_disagreement(const row_reading<Policy, Scalar>& row, token_id token,
                                                        const perturbation_options& options,
                                                        const uniforms<Source>& random, workspace& scratch) noexcept {
  const workspace_scope scope(scratch);
  const bool enough = check(options).ok() && serves_perturbation(row, options);
  const auto plain = enough ? row : read_for_perturbation(row, options, scratch);
  if (!plain) return plain.error();
  return temperature_perturbation(*plain, token, options, random);
}

//! Returns the inputs of a skip policy. `attention` must be empty unless the policy needs it. `measure()` is called
//! only if the policy needs uncertainty. The random numbers are independent of the draw of the token.
template <uniform_source Source, class Measure>
[[nodiscard]] result<skip_observation> observation_of(std::span<const float> attention, bool needs_uncertainty,
                                                      bool needs_coin, const uniforms<Source>& random,
                                                      const Measure& measure) noexcept {
  skip_observation seen;
  seen.position = random.position;
  seen.round = random.round;
  seen.attention = attention;
  if (needs_uncertainty) {
    const result<disagreement> found = measure();
    if (!found) return found.error();
    seen.disagreements = found->disagreements;
    seen.samples = found->samples;
  }
  if (needs_coin) seen.coin = random.at(purpose::skip_coin).uniform();
  return seen;
}

}  // namespace detail

//! Measures the inputs that `skip` needs for the drafted `token`, to call `skip.send(seen)`. `row` is the drafter's
//! row, and `attention` is the attention row of the query that produced `row`. `attention` may be empty if `skip` does
//! not need it.
//! Errors: attention_missing, invalid_attention; invalid_argument (options); errors of `temperature_perturbation`.
template <execution_policy Policy, class Scalar, skip_policy Skip, uniform_source Source>
[[nodiscard]] result<skip_observation> observe_skip(const row_reading<Policy, Scalar>& row, const Skip& skip,
                                                    token_id token, std::span<const float> attention,
                                                    const uniforms<Source>& random, workspace& scratch) noexcept {
  if constexpr (Skip::needs_attention) {
    if (const result<bool> usable = skip.importance.eligible(attention); !usable) return usable.error();
  } else {
    attention = {};
  }
  const auto measure = [&]() noexcept -> result<disagreement> {
    if constexpr (Skip::needs_uncertainty)
      return detail::measure_disagreement(row, token, skip.perturbation, random, scratch);
    return disagreement{};
  };
  return detail::observation_of(attention, Skip::needs_uncertainty, Skip::needs_coin, random, measure);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
