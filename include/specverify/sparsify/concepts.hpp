// SPDX-License-Identifier: Apache-2.0
//! Defines the concept of a sparsifier: a type that chooses which tokens of the drafter's distribution to keep.
//!
//! A sparsifier sees a reading and a small state. The state can hold anything that the sparsifier learns along the
//! text, for example an adaptive threshold. A session keeps one state per draft of a window, and after a rejection
//! returns to the state after the last committed token. If the acceptance rule is lossless, the output follows the
//! target's distribution with any sparsifier.
//! Satisfied by `top_k`, `threshold`, `conformal`, `top_p`, `min_p`, `top_n_sigma`, `vocabulary_budget`,
//! `online_vocabulary_budget`.
//! Cost: O(1); no allocation.
//! See:  docs/algorithms/sparsifier.md, tests/unit/sparsify/concepts_test.cpp
#ifndef SPECVERIFY_SPARSIFY_CONCEPTS_HPP
#define SPECVERIFY_SPARSIFY_CONCEPTS_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/distribution/support.hpp>
#include <specverify/row/reading.hpp>

#include <concepts>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

//! State of a sparsifier that does not learn.
struct no_state {
  friend SPECVERIFY_INLINE constexpr bool operator==(no_state, no_state) noexcept { return true; }
};

//! A token that was drawn from the row itself, before compression, and its measured uncertainty.
struct drawn_token {
  token_id token = no_token;
  std::uint32_t disagreements = 0;  //!< draws at random temperatures that gave a different token
  std::uint32_t samples = 0;        //!< number of draws; 0: not measured
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Rows are read with the request that `request` returns, so this request must include every result that `select` uses.
//! `select` must write the support's ids, in ascending order, and weights to `scratch`, where they remain; on an error
//! it must leave `scratch` unchanged. `workspace_size` must return enough bytes for one support.
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

//! A sparsifier that keeps a fixed number of tokens, K. A session announces K in the hello. If a window plans a
//! different K for a round, the session sets the planned K in the sparsifier. Satisfied by `top_k`.
template <class Sparsifier>
concept sized_sparsifier = requires(Sparsifier& sparsifier) {
  requires std::same_as<decltype((sparsifier.support_size)), std::uint32_t&>;
};
//! A sparsifier that chooses the number of tokens, up to a cap. Satisfied by every sparsifier listed above except
//! `top_k`.
template <class Sparsifier>
concept capped_sparsifier = !sized_sparsifier<Sparsifier> && requires(Sparsifier & sparsifier) {
  requires std::same_as<decltype((sparsifier.max_support_size)), std::uint32_t&>;
};

//! A sparsifier that may also use the drawn token. A support that depends on the drawn token may be sent only if the
//! token was drawn from the whole row (which is lossy), because the token cannot be drawn from a distribution that
//! depends on it. Satisfied by `online_vocabulary_budget`.
template <class Sparsifier>
concept token_sparsifier = sparsifier<Sparsifier> &&
    requires(const Sparsifier& sparsifier, const row_summary& row, const drawn_token& drawn, workspace& scratch) {
  { sparsifier.select_with_token(row, drawn, scratch) } noexcept -> std::same_as<result<support>>;
};

//! Returns the state whose request needs the most memory. Use it to size arrays that must be large enough for every
//! state.
template <sparsifier Sparsifier>
[[nodiscard]] constexpr typename Sparsifier::state_type widest_state(const Sparsifier& sparsifier) noexcept {
  if constexpr (requires { sparsifier.widest_state(); }) {
    return sparsifier.widest_state();
  } else {
    return sparsifier.initial_state();
  }
}

//! Returns the index of the state with which the next round begins; states[i] is the state after i drafts. If draft T +
//! 1 is rejected, the index is T + 1, because the token that replaces this draft is at the same position. If all L =
//! `drafted` drafts are accepted, the index is L. `beyond_known`: the distribution after the last draft is also known
//! (because a budget ended the round) and is used to draw the bonus token; then the index after L accepted drafts is L
//! + 1.
[[nodiscard]] constexpr std::uint32_t resumed_state(std::uint32_t accepted, std::uint32_t drafted,
                                                    bool beyond_known = false) noexcept {
  const std::uint32_t last = drafted + (beyond_known ? 1u : 0u);
  return accepted + 1 < last ? accepted + 1 : last;
}

SPECVERIFY_NAMESPACE_END

#endif
