// SPDX-License-Identifier: Apache-2.0
//! Wraps a sparsifier so that one distribution stays within a window's bit budget for a round. At least one token is
//! kept, whatever this costs.
//!
//! Use it to draft with a `budgeted_window` outside a session. A sparsifier that chooses the number of tokens is called
//! again with a limit if its support costs too much. Other sparsifiers get the number from the window's plan.
//! Paper:      Conformal Sparsification (arXiv 2510.09942), the bit budget of a batch. The paper does not cut supports.
//! Guarantees: `budgeted` is a sparsifier with the wrapped sparsifier's state. If the budget cuts a support,
//!             `support::cut` is set. No allocation; noexcept; bit-exact if the wrapped sparsifier is bit-exact.
//! Cost:       the wrapped sparsifier's cost, at most twice, plus O(1).
//! See:        docs/algorithms/window.md, tests/unit/policy/budgeted_test.cpp, tests/session/budget_clamp_test.cpp
#ifndef SPECVERIFY_POLICY_BUDGETED_HPP
#define SPECVERIFY_POLICY_BUDGETED_HPP

#include <specverify/policy/concepts.hpp>
#include <specverify/sparsify/concepts.hpp>

SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Selects a support within the window's budget. Copies the sparsifier only if the sparsifier must be called again.
template <sparsifier Sparsifier, budgeted_window Window>
[[nodiscard]] result<support> select_within_budget(const Sparsifier& sparsifier, const Window& window,
                                                   const row_summary& row, const typename Sparsifier::state_type& state,
                                                   workspace& scratch) noexcept {
  const std::size_t mark = scratch.mark();
  result<support> kept = sparsifier.select(row, state, scratch);
  if (!kept) return kept;
  if constexpr (sized_sparsifier<Sparsifier>) {
    const budget_clamp most = window.clamp();
    kept->cut = most.clamped && !most.dense && sparsifier.support_size == most.support_size &&
                kept->size() >= most.support_size && (kept->total_weight == 0 || dropped_mass(*kept) > 0);
  } else if constexpr (capped_sparsifier<Sparsifier>) {
    const budget_clamp most = window.clamp(kept->size());
    if (!most.clamped) return kept;
    scratch.rewind(mark);
    Sparsifier capped = sparsifier;
    capped.max_support_size = most.support_size;
    kept = capped.select(row, state, scratch);
    if (kept) kept->cut = true;
  }
  return kept;
}

}  // namespace detail

template <sparsifier Sparsifier, budgeted_window Window>
struct budgeted {
  using state_type = typename Sparsifier::state_type;
  Sparsifier sparsifier{};
  Window window{};

  [[nodiscard]] constexpr state_type initial_state() const noexcept { return sparsifier.initial_state(); }
  [[nodiscard]] constexpr state_type widest_state() const noexcept { return specverify::widest_state(sparsifier); }
  [[nodiscard]] state_type advance(const state_type& state, const support& kept) const noexcept {
    return sparsifier.advance(state, kept);
  }
  [[nodiscard]] constexpr read_request request(const state_type& state, std::uint32_t vocab_size) const noexcept {
    return sparsifier.request(state, vocab_size);
  }
  [[nodiscard]] constexpr std::size_t workspace_size(const state_type& state, std::uint32_t vocab_size) const noexcept {
    return sparsifier.workspace_size(state, vocab_size);
  }

  //! Errors: the errors of the sparsifier's `select`.
  [[nodiscard]] result<support> select(const row_summary& row, const state_type& state,
                                       workspace& scratch) const noexcept {
    return detail::select_within_budget(sparsifier, window, row, state, scratch);
  }
};

SPECVERIFY_NAMESPACE_END

#endif
