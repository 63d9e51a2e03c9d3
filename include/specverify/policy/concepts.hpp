// SPDX-License-Identifier: Apache-2.0
//! The concept of a window policy: how long, how fine and how wide a round's draft is.
//!
//! Neither question ever shows the policy a token that was drawn from the law it is asked about: whether a position is sent is decided
//! from laws alone, else the text would not follow the target's law (T34).
//! See: docs/algorithms/window.md, tests/unit/policy/concepts_test.cpp
#ifndef SPECVERIFY_POLICY_CONCEPTS_HPP
#define SPECVERIFY_POLICY_CONCEPTS_HPP

#include <specverify/distribution/law.hpp>
#include <specverify/policy/observation.hpp>

#include <concepts>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! `begin(observation)` plans a round; `proceed(position, law, bits)` says whether the position with this law is drafted too, given the
//! bits that the laws before it cost. Both are pure. A policy whose `proceed` is always true says `unconditional = true`.
//! Models: `draft_plan` (the same plan every round), `fixed_window`.
template <class Policy>
concept window_policy = std::copyable<Policy> &&
    requires(const Policy& policy, const observation& seen, std::uint32_t position, const law& next, std::uint64_t bits) {
  { policy.begin(seen) } noexcept -> std::same_as<draft_plan>;
  { policy.proceed(position, next, bits) } noexcept -> std::same_as<bool>;
};

SPECVERIFY_NAMESPACE_END

#endif
