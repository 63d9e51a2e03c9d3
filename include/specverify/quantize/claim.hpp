// SPDX-License-Identifier: Apache-2.0
//! The paper's order: a token drawn from the row itself, and after it what travels with it: its probability there, and
//! the law that a rejection subtracts (lossy).
//!
//! Use it for the hybrid baselines: `row.sample`, then `make_claim`. Drafts that keep the target's law exact come from
//! quantize/draft_law.hpp.
//! Paper:      Communication-Efficient Hybrid Language Model via Uncertainty-Aware Opportunistic and Compressed
//!             Transmission, arXiv 2505.11788.
//! Symbols:    x = the row's law, x^ = claimed, d = drawn token, x_d = count / resolution.
//! Guarantees: what the sparsifier and `compressed_draft` guarantee; the claimed law names the token and gives it a
//!             positive count; x_d is within 2^-32 of the row's integer weights; no allocation; noexcept. Bit-exact.
//! Deviates:   a token that the lattice left nothing gets one unit of the largest entry of x^, since what travels names
//!             it. It is tested against x_d all the same.
//! See:        docs/algorithms/draft_law.md, tests/unit/quantize/claim_test.cpp, tests/session/hybrid_law_test.cpp,
//!             examples/docs/draft_law.cpp
#ifndef SPECVERIFY_QUANTIZE_CLAIM_HPP
#define SPECVERIFY_QUANTIZE_CLAIM_HPP

#include <specverify/distribution/draft.hpp>
#include <specverify/quantize/draft_law.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! All views lie in the workspace of the call.
struct drafted_claim {
  law claimed{};                 //!< x^, what to send, and what a rejection subtracts
  support kept{};                //!< X with its weights: what a sparsifier's `advance` looks at
  std::uint32_t count = 0;       //!< x_d = count / resolution: what to send, and what the token is tested against
  std::uint32_t resolution = 0;  //!< positive
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! A token with a law, as they travel. Only who drew the token knows whether it was from that law: never a `draft`.
class claim {
 public:
  static constexpr guarantee strength = guarantee::lossy;
  constexpr claim(token_id token, const law& claimed) noexcept : token_(token), law_(claimed) {}
  [[nodiscard]] constexpr token_id token() const noexcept { return token_; }
  [[nodiscard]] constexpr const law& source_law() const noexcept { return law_; }
  [[nodiscard]] constexpr claim rebound(const law& copy) const noexcept { return {token_, copy}; }

 private:
  token_id token_;
  law law_;
};

}  // namespace detail

//! Bytes of workspace that `make_claim` takes of rows of `vocab_size` entries, the reading not counted.
template <sparsifier Sparsifier>
[[nodiscard]] constexpr std::size_t claim_workspace_size(std::uint32_t vocab_size, const Sparsifier& sparsifier,
                                                         const typename Sparsifier::state_type& state) noexcept {
  const std::size_t entries = sparsifier.workspace_size(state, vocab_size) / 8 + 2;
  return draft_law_workspace_size(vocab_size, sparsifier, state, {law_format::top_k_tail, 1}) +
         slice_bytes<std::uint32_t>(entries < vocab_size ? entries : vocab_size);
}

//! What travels with a token drawn from `row`: x_d, and the law over `kept`. A reading that holds every token
//! (survivors = V, with W) knows what any drawn token weighs.
//! Errors: unsupported (a format other than top_k_tail), and those of `compressed_draft`. On error `scratch` gives back
//!         what was taken.
[[nodiscard]] inline result<drafted_claim> make_claim(const row_summary& row, const support& kept, token_id token,
                                                      const draft_law_options& options, workspace& scratch) noexcept {
  if (options.format != law_format::top_k_tail) return status{errc::unsupported, part::quantize, 0};
  workspace_scope scope(scratch);
  const auto made = compressed_draft(row, kept, token, {value_format::lattice, options.resolution, true}, scratch);
  if (!made) return made.error();
  law claimed = made->claimed_law;
  const std::uint32_t place = claimed.find(token);
  if (place < claimed.size && claimed.counts[place] == 0) {
    const auto counts = scratch.take<std::uint32_t>(claimed.size);
    if (!counts) return status{errc::workspace_too_small, part::quantize, claimed.size};
    std::copy_n(claimed.counts, claimed.size, counts->begin());
    const std::uint32_t unit = std::max<std::uint32_t>(1, claimed.vocab_size - claimed.size);
    *std::max_element(counts->begin(), counts->end()) -= unit;
    (*counts)[place] = unit;
    claimed.counts = counts->data();
  }
  if (const status why = check(claimed); !why.ok()) return why;
  scope.keep();
  return drafted_claim{claimed, kept, made->count, made->resolution};
}

//! The same over what the sparsifier keeps; one that may look at the token does.
//! Errors: those of select too.
template <sparsifier Sparsifier>
[[nodiscard]] result<drafted_claim> make_claim(const row_summary& row, const Sparsifier& sparsifier,
                                               const typename Sparsifier::state_type& state, const drawn_token& drawn,
                                               const draft_law_options& options, workspace& scratch) noexcept {
  workspace_scope scope(scratch);
  const result<support> kept = [&]() noexcept {
    if constexpr (token_sparsifier<Sparsifier>) {
      return sparsifier.select_with_token(row, drawn, scratch);
    } else {
      return sparsifier.select(row, state, scratch);
    }
  }();
  if (!kept) return kept.error();
  const result<drafted_claim> made = make_claim(row, *kept, drawn.token, options, scratch);
  if (made) scope.keep();
  return made;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
