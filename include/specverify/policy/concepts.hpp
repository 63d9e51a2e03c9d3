// SPDX-License-Identifier: Apache-2.0
//! The concepts of policies: how long, how fine and how wide a round's draft is (window), and whether a drafted token
//! is sent at all (skip).
//!
//! A window policy is never shown a token that was drawn from the law it is asked about: whether a position is sent is
//! decided from laws alone, else the text would not follow the target's law (T34). A skip policy may look at the token;
//! therefore all but one are lossy.
//! See: docs/algorithms/window.md, docs/algorithms/skip.md, tests/unit/policy/concepts_test.cpp
#ifndef SPECVERIFY_POLICY_CONCEPTS_HPP
#define SPECVERIFY_POLICY_CONCEPTS_HPP

#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/policy/observation.hpp>

#include <concepts>
#include <optional>
#include <span>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

//! What a skip policy may look at when it decides about one drafted token.
struct skip_observation {
  std::uint32_t position = 0;  //!< absolute position of the token
  std::uint32_t round = 0;
  std::uint32_t disagreements = 0;  //!< draws at random temperatures that gave another token
  std::uint32_t samples = 0;        //!< how many were drawn
  //! attention row of the query that produced the token's logits; empty: not asked for
  std::span<const float> attention{};
  double coin = 0;  //!< uniform in [0, 1), purpose 10
};

//! What a budget makes of a support of K tokens.
struct budget_clamp {
  std::uint32_t support_size = 0;  //!< K' <= K; or V
  bool clamped = false;            //!< K itself costs more than the budget
  bool dense = false;              //!< all V tokens are sent instead: cheaper than K
};

//! Between which L and l every answer of a window's `begin` lies.
struct plan_range {
  std::uint32_t max_draft_length = 8;  //!< L at most, 1..4096
  std::uint32_t least_resolution = 100;
  std::uint32_t most_resolution = 100;
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! `begin(observation)` plans a round; `proceed(position, law, bits)` says whether the position with this law is
//! drafted too, given the bits that the laws before it cost. Both are pure. A policy whose `proceed` is always true
//! says `unconditional = true`. One that looks at `observation::accepted_probability` says `needs_probabilities =
//! true`: only then does a session measure them. A policy that counts in its own way also has `charge(law)`: then
//! `bits` is the sum of the charges of the laws before it. A session cuts what `begin` answers from above: L and l to
//! the window's `range`, K to what the sparsifier keeps, and L to what is left of the text. Satisfied by:
//! `fixed_window` (the same plan every round), `bit_budget_window`, `model_window`, `dqn_window`.
template <class Policy>
concept window_policy = std::copyable<Policy> && requires(const Policy& policy, const observation& seen,
                                                          std::uint32_t position, const law& next, std::uint64_t bits) {
  { policy.begin(seen) } noexcept -> std::same_as<draft_plan>;
  { policy.proceed(position, next, bits) } noexcept -> std::same_as<bool>;
};

//! A window that says which L and l it may plan: they size a session's messages. If l changes from round to round,
//! each draft states its own. A window without `range` plans up to 8 drafts, at l = 100. Satisfied by: every window of
//! the library.
template <class Policy>
concept ranged_window = window_policy<Policy> && requires(const Policy& policy) {
  { policy.range() } noexcept -> std::same_as<plan_range>;
};

//! A window that counts with V and with the K of the sparsifier: a session tells it both before the first round.
//! Satisfied by: `bit_budget_window`, `model_window`.
template <class Policy>
concept counting_window = window_policy<Policy> && requires(Policy& policy, std::uint32_t size) {
  { policy.count_with(size, size) } noexcept -> std::same_as<void>;
};

//! A window policy that says what a law costs, in a unit of its own.
template <class Policy>
concept charging_window = window_policy<Policy> && requires(const Policy& policy, const law& next) {
  { policy.charge(next) } noexcept -> std::same_as<std::uint64_t>;
};

//! A window policy with a budget of bits: `clamp()` is what it makes of the plan's K, which `begin` hands out, and
//! `clamp(n)` what it makes of a law of n tokens where the sparsifier chose their number. A session asks so that no
//! position costs more than a round has, and counts the laws that it cut. Satisfied by: `bit_budget_window`.
template <class Policy>
concept budgeted_window = window_policy<Policy> && requires(const Policy& policy, std::uint32_t support_size) {
  { policy.clamp() } noexcept -> std::same_as<budget_clamp>;
  { policy.clamp(support_size) } noexcept -> std::same_as<budget_clamp>;
};

//! What one round has drafted. `bits` is kept by `takes_position` for a charging window; for others the caller sets it
//! before each call.
struct window_progress {
  std::uint32_t drafted = 0;
  std::uint64_t bits = 0;
};

//! Whether the window takes the next position, decided from its law alone and before anything is drawn from it; then it
//! is charged and counted. The first position is always taken (L >= 1). Sessions ask here too.
template <window_policy Window>
[[nodiscard]] constexpr bool takes_position(const Window& window, window_progress& so_far, std::uint32_t position,
                                            const law& next) noexcept {
  if (so_far.drafted > 0 && !window.proceed(position, next, so_far.bits)) return false;
  if constexpr (charging_window<Window>) so_far.bits += window.charge(next);
  so_far.drafted += 1;
  return true;
}

//! Drafts one position of a round, that of the stream, or nothing if the window ends before it.
template <window_policy Window, class Source>
[[nodiscard]] constexpr std::optional<draft> draw_within(const Window& window, window_progress& so_far, const law& next,
                                                         const uniform_stream<Source>& stream) noexcept {
  if (!takes_position(window, so_far, stream.first.position, next)) return std::nullopt;
  return draw(next, stream);
}

//! `send(seen)`: whether the token is uploaded and verified; otherwise the edge commits it. The static members say what
//! `seen` must hold, and how strongly the text is tied to the target's law. A policy that needs uncertainty has
//! `perturbation`, one that needs attention `importance`. One that also has `uncertain(seen)` lets a session count the
//! uncertain tokens that it skips (`session_statistics::skipped_uncertain`).
//! Satisfied by: `always_send`, `random_skip`, `uncertainty_gate`, `uncertainty_and_importance_gate`.
template <class Policy>
concept skip_policy = std::copyable<Policy> && requires(const Policy& policy, const skip_observation& seen) {
  { policy.send(seen) } noexcept -> std::same_as<bool>;
  { Policy::needs_uncertainty } -> std::convertible_to<bool>;
  { Policy::needs_attention } -> std::convertible_to<bool>;
  { Policy::needs_coin } -> std::convertible_to<bool>;
  { Policy::strength } -> std::convertible_to<guarantee>;
};

//! HLM: every token is verified.
struct always_send {
  static constexpr bool needs_uncertainty = false;
  static constexpr bool needs_attention = false;
  static constexpr bool needs_coin = false;
  static constexpr guarantee strength = guarantee::unconditional;
  [[nodiscard]] constexpr bool send(const skip_observation&) const noexcept { return true; }
};

//! The same plan for every round; every position up to L is drafted. What a session takes where nothing is said.
struct fixed_window {
  static constexpr bool unconditional = true;  //!< `proceed` is always true: nobody needs to count bits for it
  std::uint32_t max_draft_length = 4;          //!< L, 1..4096
  std::uint32_t resolution = 100;              //!< l of a lattice, 1..2^16

  [[nodiscard]] constexpr draft_plan begin(const observation&) const noexcept { return {max_draft_length, resolution}; }
  [[nodiscard]] constexpr plan_range range() const noexcept { return {max_draft_length, resolution, resolution}; }
  [[nodiscard]] constexpr bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
};
static_assert(ranged_window<fixed_window>);

SPECVERIFY_NAMESPACE_END

#endif
