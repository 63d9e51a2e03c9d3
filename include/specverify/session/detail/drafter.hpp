// SPDX-License-Identifier: Apache-2.0
//! One row of the drafter's logits to the law that is drawn from and travels: digest, support, counts, in the format that hello agreed on.
#ifndef SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP
#define SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP

#include <specverify/codec/message.hpp>
#include <specverify/distribution/make_law.hpp>
#include <specverify/quantize/drop_zero.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/half_row.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr bool carries_claims(law_format format) noexcept { return !carries_laws(format); }
[[nodiscard]] constexpr bool is_sparse(law_format format) noexcept { return format == law_format::sparse_drop_zero || format == law_format::sparse_paper; }

template <sparsifier Sparsifier>
class drafter {
 public:
  using state_type = typename Sparsifier::state_type;

  drafter(const draft_format& format, const row_transform& transform, const Sparsifier& rule) : format_(format), sparsifier_(rule) {
    const std::uint32_t vocab_size = format.vocab_size;
    // The papers' code names exactly K ids.
    if constexpr (requires { sparsifier_.exactly; }) sparsifier_.exactly = format.format == law_format::sparse_paper && format.support_size != 0;
    const state_type state = rule.initial_state();
    digest_request wanted;
    std::size_t scratch = workspace_alignment;
    std::uint32_t entries = 0;
    if (is_sparse(format.format)) {
      wanted = sparsifier_.request(state, vocab_size);
      entries = support_bound();
      scratch += sparsifier_.workspace_size(state, vocab_size) + sparse_lattice::workspace_size(entries);
    } else if (format.format == law_format::dense_lattice) {
      entries = lattice_support_size(vocab_size, format.resolution);
      const top_k largest{entries, true};
      wanted = largest.request({}, vocab_size);
      scratch += largest.workspace_size({}, vocab_size) + lattice::workspace_size(entries);
    } else if (format.format == law_format::half_row) {
      wanted.exact_normaliser = true;
      entries = vocab_size;
    }
    if (!carries_claims(format.format)) digest_space_.resize(digest_workspace_size(vocab_size, transform, wanted) + workspace_alignment);
    scratch_.resize(scratch);
    ids_.resize(entries);
    counts_.resize(entries);
  }

  [[nodiscard]] Sparsifier& rule() noexcept { return sparsifier_; }

  //! The law of a row; its arrays are the drafter's own until the next call. `state` becomes the state after this position.
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status propose(Policy policy, row_view<Scalar> row, const row_transform& transform, state_type& state, law& out) noexcept {
    if (row.valid_size() > format_.vocab_size) return {errc::vocabulary_mismatch, part::session, row.valid_size()};
    workspace space{std::span<std::byte>(digest_space_)};
    workspace scratch{std::span<std::byte>(scratch_)};
    row_digest summary;
    if (format_.format == law_format::half_row) {
      digest_request wanted;
      wanted.exact_normaliser = true;
      if (const status why = digest(policy, row, transform, wanted, space, summary); !why.ok()) return why;
      half_row made;
      if (const status why = half_row_counts(policy, row, transform, summary, space, ids_, counts_, made); !why.ok()) return why;
      return finish(made.size, out);
    }
    support kept;
    if (is_sparse(format_.format)) {
      if (const status why = digest(policy, row, transform, sparsifier_.request(state, format_.vocab_size), space, summary); !why.ok()) return why;
      if (const status why = sparsifier_.select(summary, space, scratch, state, kept); !why.ok()) return why;
    } else {
      const top_k largest{lattice_support_size(format_.vocab_size, format_.resolution), true};
      if (const status why = digest(policy, row, transform, largest.request({}, format_.vocab_size), space, summary); !why.ok()) return why;
      if (const status why = largest.select(summary, space, scratch, {}, kept); !why.ok()) return why;
    }
    if (kept.ids.size() > ids_.size()) return {errc::support_too_large, part::session, kept.size()};
    const status quantized = is_sparse(format_.format) ? sparse_lattice{}.quantize(kept, format_.resolution, counts_, scratch)
                                                       : lattice{}.quantize(kept, format_.resolution, counts_, scratch);
    if (!quantized.ok()) return quantized;
    if (is_sparse(format_.format)) state = sparsifier_.advance(state, kept);
    std::uint32_t size = kept.size();
    for (std::uint32_t i = 0; i < size; ++i) ids_[i] = kept.ids[i];
    if (format_.format == law_format::sparse_paper) return finish(size, out);
    if (const status why = drop_zero(std::span<const token_id>(ids_).first(size), std::span<const std::uint32_t>(counts_).first(size), ids_, counts_, size);
        !why.ok()) {
      return why;
    }
    return finish(size, out);
  }

 private:
  [[nodiscard]] std::uint32_t support_bound() const noexcept {
    std::uint32_t bound = format_.vocab_size;
    if constexpr (requires { sparsifier_.support_size; }) bound = sparsifier_.support_size < bound ? sparsifier_.support_size : bound;
    if (format_.support_size != 0 && format_.support_size > bound) bound = format_.support_size;
    return bound < format_.vocab_size ? bound : format_.vocab_size;
  }

  [[nodiscard]] status finish(std::uint32_t size, law& out) const noexcept {
    return make_law(std::span<const token_id>(ids_).first(size), std::span<const std::uint32_t>(counts_).first(size), format_.vocab_size, out);
  }

  draft_format format_;
  Sparsifier sparsifier_;
  std::vector<std::byte> digest_space_;
  std::vector<std::byte> scratch_;
  std::vector<token_id> ids_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
