// SPDX-License-Identifier: Apache-2.0
//! Keeps the K most probable tokens of a row.
//!
//! Paper:      Conformal Sparsification (arXiv 2510.09942), K-SQS.
//! Symbols:    K = support_size.
//! Guarantees: keeps min(K, number of tokens with a positive integer weight) tokens. Ties go to the smaller id. O(top
//!             entries); no allocation; bit-exact.
//! Deviates:   tokens below 2^-32 of the largest probability have integer weight 0, so they are kept only if `exactly`
//!             is set.
//! See:        docs/algorithms/top_k.md, tests/unit/sparsify/top_k_test.cpp
#ifndef SPECVERIFY_SPARSIFY_TOP_K_HPP
#define SPECVERIFY_SPARSIFY_TOP_K_HPP

#include <specverify/sparsify/detail/top_entries.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct top_k;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] constexpr status check(const top_k& sparsifier) noexcept;

struct top_k {
  using state_type = no_state;
  std::uint32_t support_size = 16;  //!< K >= 1
  //! also requests W (the total weight), which retained_mass and `lattice` need; `sparse_lattice` does not need W
  bool with_total_weight = false;
  //! always keeps min(K, V) tokens, because the paper's encoding needs this number; if too few tokens have a positive
  //! weight, the smallest other ids are added with weight 0
  bool exactly = false;

  [[nodiscard]] constexpr no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] constexpr no_state advance(no_state, const support&) const noexcept { return {}; }

  [[nodiscard]] constexpr read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    read_request wanted;
    wanted.top_entries = support_size < vocab_size ? support_size : vocab_size;
    wanted.integer_total = with_total_weight;
    wanted.sums = false;
    return wanted;
  }
  [[nodiscard]] constexpr std::size_t workspace_size(no_state state, std::uint32_t vocab_size) const noexcept {
    return detail::support_bytes(detail::top_bound(request(state, vocab_size), vocab_size));
  }

  //! The support's total_weight is 0 if the reading has no W. The reading may have more than K top entries.
  //! Errors: invalid_argument (K = 0), digest_insufficient (the reading has fewer than K top entries and does not list
  //!         all tokens; `where` = K), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    const auto listed = detail::top_entries_of(row);
    if (!listed) return listed.error();
    const detail::top_view& from = *listed;
    if ((from.size() < support_size && !from.complete) || from.size() == 0)
      return status{errc::digest_insufficient, part::sparsify, support_size};
    if (exactly && from.size() < support_size && from.size() < from.vocab_size) return fill_up(from, scratch);
    return detail::keep_largest(from, support_size < from.size() ? support_size : from.size(), scratch);
  }

 private:
  [[nodiscard]] result<support> fill_up(const detail::top_view& from, workspace& scratch) const noexcept {
    const std::uint32_t size = support_size < from.vocab_size ? support_size : from.vocab_size;
    workspace_scope scope(scratch);
    const auto ids = scratch.take<token_id>(size);
    const auto weights = scratch.take<std::uint32_t>(size);
    if (!ids || !weights) return status{errc::workspace_too_small, part::sparsify, size};
    scope.keep();
    const std::span<token_id> kept_ids = *ids;
    const std::span<std::uint32_t> kept_weights = *weights;
    std::uint32_t next = 0, spare = size - from.size();  // top entries taken; ids of weight 0 left to add
    token_id id = 0;
    for (std::uint32_t i = 0; i < size; ++i, ++id) {
      const bool listed = next < from.size() && (spare == 0 || from.ids[next] == id);
      kept_ids[i] = id = listed ? from.ids[next] : id;
      kept_weights[i] = listed ? from.weights[next] : 0;
      next += listed ? 1u : 0u;
      spare -= listed ? 0u : 1u;
    }
    return support{kept_ids, kept_weights, from.total_weight, from.vocab_size};
  }
};

constexpr status check(const top_k& sparsifier) noexcept {
  return sparsifier.support_size == 0 ? status{errc::invalid_argument, part::sparsify, 0} : status{};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
