// SPDX-License-Identifier: Apache-2.0
//! The concept of a sparsifier: which tokens of the drafter's law are kept, a function of its digest and of a small state.
//!
//! Models: `top_k`, `threshold`, `top_p`, `min_p`. A sparsifier only shrinks the drafter's law, so any of them keeps the target's law exact.
//! The state carries what a rule learns along the text (an adaptive threshold); a session keeps the states of a window and goes back to
//! the one after the last token that stood.
//! See: docs/algorithms/sparsifier.md, tests/unit/sparsify/concepts_test.cpp
#ifndef SPECVERIFY_SPARSIFY_CONCEPTS_HPP
#define SPECVERIFY_SPARSIFY_CONCEPTS_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/distribution/support.hpp>
#include <specverify/row/digest.hpp>

#include <concepts>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

//! The state of a rule that learns nothing.
struct no_state {
  friend SPECVERIFY_INLINE constexpr bool operator==(no_state, no_state) noexcept { return true; }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! `request` says what a digest must gather for `select` under a state; `select` writes ids (ascending) and weights into `scratch`, which
//! keeps them, and leaves `scratch` and `out` as they were on error; `workspace_size` bytes of scratch suffice for one support.
template <class Sparsifier>
concept sparsifier = std::copyable<Sparsifier> && std::is_trivially_copyable_v<typename Sparsifier::state_type> &&
    requires(const Sparsifier& rule, const typename Sparsifier::state_type& state, std::uint32_t vocab_size, const row_digest& digest,
             const workspace& digest_space, workspace& scratch, const support& kept, support& out) {
  { rule.initial_state() } noexcept -> std::same_as<typename Sparsifier::state_type>;
  { rule.request(state, vocab_size) } noexcept -> std::same_as<digest_request>;
  { rule.workspace_size(state, vocab_size) } noexcept -> std::same_as<std::size_t>;
  { rule.select(digest, digest_space, scratch, state, out) } noexcept -> std::same_as<status>;
  { rule.advance(state, kept) } noexcept -> std::same_as<typename Sparsifier::state_type>;
};

SPECVERIFY_NAMESPACE_END

#endif
