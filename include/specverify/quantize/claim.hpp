// SPDX-License-Identifier: Apache-2.0
//! Makes claims: drafts whose token is drawn from the row itself, before the distribution is compressed.
//!
//! A claim consists of the token, its probability in the row, and the compressed distribution. Use it to reproduce the
//! paper's baselines: call `row.sample`, then `make_claim`. Claims are lossy, because a rejection subtracts a
//! distribution from which the token was not drawn. For exact output, use quantize/draft_law.hpp.
//! Paper:      CU-HLM (arXiv 2505.11788).
//! Symbols:    x^ = claimed distribution; x_d = probability that is sent for the drawn token = drafted_claim::count /
//!             drafted_claim::resolution, which can differ from the token's probability in x^; K = size of the support;
//!             D = sum of the rounded counts minus the resolution of the lattice.
//! Guarantees: the guarantees of the sparsifier and of `compressed_draft`. The claimed distribution gives the token a
//!             positive count. x_d is within 2^-30 of the token's share of the row's integer weights. No allocation;
//!             noexcept. Bit-exact.
//! Deviates:   if the lattice gives the token a count of 0, one lattice count moves from the largest entry to the
//!             token, because the message must contain the token. The token is still tested against x_d.
//! Cost:       O(K + |D| log K), plus the sparsifier's cost.
//! See:        docs/algorithms/draft_law.md, tests/unit/quantize/claim_test.cpp, tests/session/hybrid_law_test.cpp
#ifndef SPECVERIFY_QUANTIZE_CLAIM_HPP
#define SPECVERIFY_QUANTIZE_CLAIM_HPP

#include <specverify/distribution/draft.hpp>
#include <specverify/quantize/draft_law.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! All views point into the workspace of the call.
struct drafted_claim {
  law claimed{};                 //!< x^, which is sent, and which a rejection subtracts
  support kept{};                //!< the support: input of a sparsifier's `advance`
  std::uint32_t count = 0;       //!< x_d = count / resolution, which is sent, and against which the token is tested
  std::uint32_t resolution = 0;  //!< positive
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! A token with a distribution, in the form that is sent. Only the drafter knows whether the token was drawn from this
//! distribution, so the type is not convertible to a `draft`.
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

//! Returns the bytes of workspace that `make_claim` takes for rows of `vocab_size` entries, without the reading.
template <sparsifier Sparsifier>
[[nodiscard]] constexpr std::size_t claim_workspace_size(std::uint32_t vocab_size, const Sparsifier& sparsifier,
                                                         const typename Sparsifier::state_type& state) noexcept {
  const std::size_t entries = sparsifier.workspace_size(state, vocab_size) / 8 + 2;
  return draft_law_workspace_size(vocab_size, sparsifier, state, {law_format::top_k_tail, 1}) +
         slice_bytes<std::uint32_t>(entries < vocab_size ? entries : vocab_size);
}

//! Makes the claim about a token drawn from `row`: x_d, and the distribution over `kept`. The reading should list every
//! token (`top_entries` = V) and have W, because it then has the weight of any drawn token.
//! Errors: unsupported (a format other than top_k_tail), and the errors of `compressed_draft`. On an error `scratch` is
//!         unchanged.
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

//! Makes the claim over the support that the sparsifier selects. A `token_sparsifier` may use the token.
//! Errors: the errors of the overload with `kept` and of `select`.
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
