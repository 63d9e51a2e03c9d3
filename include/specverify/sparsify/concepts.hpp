// SPDX-License-Identifier: Apache-2.0
//! The concept of a sparsifier: which tokens of the drafter's law are kept, a function of the row that was read and of
//! a small state.
//!
//! Satisfied by: `top_k`, `threshold`, `conformal`, `top_p`, `min_p`, `top_n_sigma`, `vocabulary_budget`,
//!         `online_vocabulary_budget`. A sparsifier only shrinks the drafter's law, so any of them keeps the target's
//!         law exact. The state carries what a sparsifier learns along the text (an adaptive threshold); a session
//!         keeps the states of a window and goes back to the one after the last token that stood.
//! See: docs/algorithms/sparsifier.md, tests/unit/sparsify/concepts_test.cpp
#ifndef SPECVERIFY_SPARSIFY_CONCEPTS_HPP
#define SPECVERIFY_SPARSIFY_CONCEPTS_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/distribution/support.hpp>
#include <specverify/row/reading.hpp>

#include <concepts>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

//! The state of a sparsifier that learns nothing.
struct no_state {
  friend SPECVERIFY_INLINE constexpr bool operator==(no_state, no_state) noexcept { return true; }
};

//! A token that was drawn from the row itself before its law was compressed, and what was measured about it.
struct drawn_token {
  token_id token = no_token;
  std::uint32_t disagreements = 0;  //!< draws at random temperatures that gave another token
  std::uint32_t samples = 0;        //!< how many were drawn; 0: not measured
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! `request` says what a reading must gather for `select` under a state; `select` writes ids (ascending) and weights
//! into `scratch`, which keeps them, and leaves `scratch` as it was on error; `workspace_size` bytes of scratch suffice
//! for one support.
template <class Sparsifier>
concept sparsifier = std::copyable<Sparsifier> && std::is_trivially_copyable_v<typename Sparsifier::state_type> &&
    requires(const Sparsifier& sparsifier, const typename Sparsifier::state_type& state, std::uint32_t vocab_size,
             const row_summary& row, workspace& scratch, const support& kept) {
  { sparsifier.initial_state() } noexcept -> std::same_as<typename Sparsifier::state_type>;
  { sparsifier.request(state, vocab_size) } noexcept -> std::same_as<read_request>;
  { sparsifier.workspace_size(state, vocab_size) } noexcept -> std::same_as<std::size_t>;
  { sparsifier.select(row, state, scratch) } noexcept -> std::same_as<result<support>>;
  { sparsifier.advance(state, kept) } noexcept -> std::same_as<typename Sparsifier::state_type>;
};

//! A sparsifier of K tokens. A session reads K from it, announces it in hello, and sets it to the K of a window's
//! plan. Satisfied by: `top_k`.
template <class Sparsifier>
concept sized_sparsifier = requires(Sparsifier& sparsifier) {
  requires std::same_as<decltype((sparsifier.support_size)), std::uint32_t&>;
};
//! A sparsifier that chooses how many tokens it keeps, up to a cap. Satisfied by: `conformal`, `threshold`,
//! `vocabulary_budget`, `online_vocabulary_budget`.
template <class Sparsifier>
concept capped_sparsifier = !sized_sparsifier<Sparsifier> && requires(Sparsifier & sparsifier) {
  requires std::same_as<decltype((sparsifier.max_support_size)), std::uint32_t&>;
};

//! A sparsifier that may also look at the drawn token. What it keeps then only travels with a token drawn from
//! the row (lossy): a law that knows its token is no law to draw it from. Model: `online_vocabulary_budget`.
template <class Sparsifier>
concept token_sparsifier = sparsifier<Sparsifier> &&
    requires(const Sparsifier& sparsifier, const row_summary& row, const drawn_token& drawn, workspace& scratch) {
  { sparsifier.select_with_token(row, drawn, scratch) } noexcept -> std::same_as<result<support>>;
};

//! The state under which a sparsifier asks for the most: what arrays that serve every state are sized by.
template <sparsifier Sparsifier>
[[nodiscard]] constexpr typename Sparsifier::state_type widest_state(const Sparsifier& sparsifier) noexcept {
  if constexpr (requires { sparsifier.widest_state(); }) {
    return sparsifier.widest_state();
  } else {
    return sparsifier.initial_state();
  }
}

//! The state that goes on after a window, given states[0] before its first draft and states[i] after its i-th: the one
//! after the last position that gave a token. A rejection at T + 1 gave its token there, a bonus token came from beyond
//! the window. `beyond_known`: the law after the last draft was made too (a window that a budget closed), and the
//! sparsifier counts it for the bonus token: states[L + 1].
[[nodiscard]] constexpr std::uint32_t resumed_state(std::uint32_t accepted, std::uint32_t drafted,
                                                    bool beyond_known = false) noexcept {
  const std::uint32_t last = drafted + (beyond_known ? 1u : 0u);
  return accepted + 1 < last ? accepted + 1 : last;
}

SPECVERIFY_NAMESPACE_END

#endif
