// SPDX-License-Identifier: Apache-2.0
//! Defines the concepts of an edge's two kinds of policies. A window chooses the number of drafts of a round, the
//! resolution and the support size. A skip policy decides whether to send a drafted token.
//!
//! A window may look at the distribution of a position, but not at the token drawn from it; otherwise the text would
//! not follow the target's distribution (conformance test T34). A skip policy may look at the token, so every skip
//! policy except `always_send` is lossy.
//! Cost: O(1), plus the window's cost; no allocation.
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

//! Data that a skip policy can use to decide on one drafted token.
struct skip_observation {
  std::uint32_t position = 0;  //!< absolute position of the token
  std::uint32_t round = 0;
  std::uint32_t disagreements = 0;  //!< draws at random temperatures that gave a different token
  std::uint32_t samples = 0;        //!< number of draws
  //! attention row of the query that produced the token's logits; empty if not requested
  std::span<const float> attention{};
  double coin = 0;  //!< uniform number in [0, 1), purpose 10
};

//! Effect of a bit budget on a support of K tokens.
struct budget_clamp {
  std::uint32_t support_size = 0;  //!< tokens within the budget, K' <= K; V if `dense`
  bool clamped = false;            //!< whether K tokens cost more than the budget
  bool dense = false;              //!< whether all V tokens are sent instead, because they are within the budget
};

//! Range of the draft length L and the resolution l in all plans that a window's `begin` returns.
struct plan_range {
  std::uint32_t max_draft_length = 8;  //!< maximum L, 1..4096
  std::uint32_t least_resolution = 100;
  std::uint32_t most_resolution = 100;
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Plans the drafts of each round. `begin(observation)` must return the round's plan. `proceed(position, law, bits)`
//! must return whether to draft this position as well: `law` is its distribution, and `bits` is the cost of the round's
//! earlier distributions. Both functions must be pure. A session limits the plan: L and l to the window's `range`, K to
//! the sparsifier's K, and L to the rest of the text.
//!
//! Optional members:
//! - `unconditional = true`, if `proceed` always returns true.
//! - `needs_probabilities = true`, if `begin` reads `observation::accepted_probability`, because a session measures it
//!   only then.
//! - `charge(law)`, if the cost is not in bits; `bits` is then the sum of the earlier charges.
//!
//! Satisfied by: `fixed_window` (the same plan every round), `bit_budget_window`, `model_window`, `dqn_window`.
template <class Policy>
concept window_policy = std::copyable<Policy> && requires(const Policy& policy, const observation& seen,
                                                          std::uint32_t position, const law& next, std::uint64_t bits) {
  { policy.begin(seen) } noexcept -> std::same_as<draft_plan>;
  { policy.proceed(position, next, bits) } noexcept -> std::same_as<bool>;
};

//! A window with a known range of L and l, which limits the size of a session's messages. If l can change between
//! rounds, each draft message contains l. A session assumes up to 8 drafts at l = 100 for a window without `range`.
//! Satisfied by: every window of the library.
template <class Policy>
concept ranged_window = window_policy<Policy> && requires(const Policy& policy) {
  { policy.range() } noexcept -> std::same_as<plan_range>;
};

//! A window that needs V and the sparsifier's K. A session calls `count_with(V, K)` before the first round. Satisfied
//! by: `bit_budget_window`, `model_window`.
template <class Policy>
concept counting_window = window_policy<Policy> && requires(Policy& policy, std::uint32_t size) {
  { policy.count_with(size, size) } noexcept -> std::same_as<void>;
};

//! A window policy whose `charge` returns the cost of a distribution, in any unit.
template <class Policy>
concept charging_window = window_policy<Policy> && requires(const Policy& policy, const law& next) {
  { policy.charge(next) } noexcept -> std::same_as<std::uint64_t>;
};

//! A window policy with a bit budget. `clamp()` must return the K that `begin` plans. `clamp(n)` must return the
//! largest affordable support for a sparsifier that has chosen n tokens. A session calls both, so no position costs
//! more than the round's budget, and counts the distributions that the budget cuts. Satisfied by: `bit_budget_window`.
template <class Policy>
concept budgeted_window = window_policy<Policy> && requires(const Policy& policy, std::uint32_t support_size) {
  { policy.clamp() } noexcept -> std::same_as<budget_clamp>;
  { policy.clamp(support_size) } noexcept -> std::same_as<budget_clamp>;
};

//! Progress of one round. `takes_position` updates `bits` for a charging window; for other windows the caller must set
//! `bits` before each call.
struct window_progress {
  std::uint32_t drafted = 0;
  std::uint64_t bits = 0;
};

//! Returns whether the window drafts the next position. If so, adds the position to `so_far`. Call it before you draw a
//! token from `next`, the position's distribution. The first position is always drafted. Sessions use this function.
template <window_policy Window>
[[nodiscard]] constexpr bool takes_position(const Window& window, window_progress& so_far, std::uint32_t position,
                                            const law& next) noexcept {
  if (so_far.drafted > 0 && !window.proceed(position, next, so_far.bits)) return false;
  if constexpr (charging_window<Window>) so_far.bits += window.charge(next);
  so_far.drafted += 1;
  return true;
}

//! Draws the draft of the stream's position from `next`. Returns nothing if the window does not draft this position.
template <window_policy Window, class Source>
[[nodiscard]] constexpr std::optional<draft> draw_within(const Window& window, window_progress& so_far, const law& next,
                                                         const uniform_stream<Source>& stream) noexcept {
  if (!takes_position(window, so_far, stream.first.position, next)) return std::nullopt;
  return draw(next, stream);
}

//! Decides which drafted tokens are verified. `send(seen)` must return true to upload the token, or false if the edge
//! commits the token on its own. The static members specify the data that `seen` must have, and the guarantee. A policy
//! that needs uncertainty must have a member `perturbation`, and one that needs attention a member `importance`. If a
//! policy has `uncertain(seen)`, a session counts the skipped uncertain tokens. Satisfied by: `always_send`,
//! `random_skip`, `uncertainty_gate`, `uncertainty_and_importance_gate`.
template <class Policy>
concept skip_policy = std::copyable<Policy> && requires(const Policy& policy, const skip_observation& seen) {
  { policy.send(seen) } noexcept -> std::same_as<bool>;
  { Policy::needs_uncertainty } -> std::convertible_to<bool>;
  { Policy::needs_attention } -> std::convertible_to<bool>;
  { Policy::needs_coin } -> std::convertible_to<bool>;
  { Policy::strength } -> std::convertible_to<guarantee>;
};

//! Sends every token to the cloud for verification, as HLM does.
struct always_send {
  static constexpr bool needs_uncertainty = false;
  static constexpr bool needs_attention = false;
  static constexpr bool needs_coin = false;
  static constexpr guarantee strength = guarantee::unconditional;
  [[nodiscard]] constexpr bool send(const skip_observation&) const noexcept { return true; }
};

//! Has the same plan for every round, and drafts every position up to L. Default of a session.
struct fixed_window {
  static constexpr bool unconditional = true;  //!< `proceed` is always true, so a session need not count bits
  std::uint32_t max_draft_length = 4;          //!< L, 1..4096
  std::uint32_t resolution = 100;              //!< l of a lattice, 1..2^16

  [[nodiscard]] constexpr draft_plan begin(const observation&) const noexcept { return {max_draft_length, resolution}; }
  [[nodiscard]] constexpr plan_range range() const noexcept { return {max_draft_length, resolution, resolution}; }
  [[nodiscard]] constexpr bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
};
static_assert(ranged_window<fixed_window>);

SPECVERIFY_NAMESPACE_END

#endif
