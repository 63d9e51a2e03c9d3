// SPDX-License-Identifier: Apache-2.0
//! Lists the seven formats for sending the distribution of a draft token.
//!
//! Both sides of a session agree on one format in the hello message. It determines the distribution from which a
//! drafter samples, and the bytes that encode this distribution. A `wire_format` (codec/message_types.hpp) combines the
//! format with the parameters V, l and K.
//! Paper:      Quantize-Sample-and-Verify (QS, arXiv 2507.00605): dense_lattice; Conformal Sparsification (SQS,
//!             2510.09942): sparse_paper; HLM and CU-HLM (2505.11788): fp16_row, top_k_tail. The others are ours.
//! Symbols:    V = vocab_size, l = resolution, K = support_size, K+ = number of positive counts, b_i = counts.
//! Guarantees: the enumerators have the numbers of the wire format, which never change.
//! See:        docs/algorithms/law_format.md, docs/wire-format.md, tests/unit/distribution/law_format_test.cpp
#ifndef SPECVERIFY_DISTRIBUTION_LAW_FORMAT_HPP
#define SPECVERIFY_DISTRIBUTION_LAW_FORMAT_HPP

#include <specverify/config.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

enum class law_format : std::uint8_t {
  //! K+ positive counts: log2 C(V,K+) + log2 C(l-1,K+-1), K+ and the token's index among them (our encoding)
  sparse_drop_zero = 0,
  //! K ids, zeros allowed: log2 C(V,K) + log2 C(l+K-1,K-1) (SQS), and the token's index among the K
  sparse_paper = 1,
  dense_lattice = 2,    //!< counts over the whole vocabulary: log2 C(l+V-1,V-1) (QS), and the token id
  fp16_row = 3,         //!< V values in IEEE binary16 (HLM), and the token id
  token_only = 4,       //!< the token id; decoded as claimed_draft
  token_and_count = 5,  //!< the token id and the token's count; decoded as claimed_draft
  //! K ids with lattice counts, one count b for the other V-K ids together (CU-HLM), and the token. As a `law`: counts
  //! b_i (V-K), tail_count b
  top_k_tail = 6,
};

//! Returns whether a format carries distributions (encode_draft) instead of claims (encode_claims).
[[nodiscard]] SPECVERIFY_INLINE constexpr bool carries_laws(law_format format) noexcept {
  return format != law_format::token_only && format != law_format::token_and_count;
}
//! Returns whether a sparsifier chooses the ids in this format.
[[nodiscard]] SPECVERIFY_INLINE constexpr bool has_support(law_format format) noexcept {
  return format == law_format::sparse_drop_zero || format == law_format::sparse_paper ||
         format == law_format::top_k_tail;
}

SPECVERIFY_TYPES_END

#endif
