// SPDX-License-Identifier: Apache-2.0
//! One row of the drafter's logits to the law that is drawn from and travels: digest, support, counts, in the format
//! that hello agreed on.
#ifndef SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP
#define SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP

#include <specverify/distribution/make_law.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/quantize/drop_zero.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/fp16_row.hpp>
#include <specverify/row/sample.hpp>
#include <specverify/session/detail/formats.hpp>
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! What a drafter makes apart from laws.
struct drafter_wishes {
  bool probabilities = false;  //!< the row's own probability of drawn tokens
  bool whole_row = false;      //!< tokens are drawn from the row, and the law travels with them (lossy)
};

template <sparsifier Sparsifier>
class drafter {
 public:
  using state_type = typename Sparsifier::state_type;

  drafter(const draft_format& format, const row_transform& transform, const Sparsifier& rule, drafter_wishes wishes)
      : format_(format), sparsifier_(rule), wishes_(wishes) {
    const std::uint32_t vocab_size = format.vocab_size;
    // The papers' code names exactly K ids.
    if constexpr (requires { sparsifier_.exactly; })
      sparsifier_.exactly = format.format == law_format::sparse_paper && format.support_size != 0;
    if constexpr (requires { sparsifier_.max_support_size; }) {  // no more than the format carries
      const std::uint32_t room = format.support_size == 0 ? 0 : format.support_size - (wishes.whole_row ? 1u : 0u);
      if (room != 0 && (sparsifier_.max_support_size == 0 || sparsifier_.max_support_size > room))
        sparsifier_.max_support_size = room;
    }
    if constexpr (requires { sparsifier_.support_size; }) own_size_ = sparsifier_.support_size;
    const state_type state = widest_state(rule);
    std::size_t scratch = workspace_alignment;
    std::uint32_t entries = 0;
    if (has_support(format.format)) {
      entries = support_bound();
      scratch += sparsifier_.workspace_size(state, vocab_size) + sparse_lattice::workspace_size(entries);
      if (format.format == law_format::top_k_tail)
        law_space_.resize(compressed_law_workspace_size(entries) + workspace_alignment);
    } else if (format.format == law_format::dense_lattice) {
      const top_k largest = lattice_support();
      entries = largest.support_size;
      scratch += largest.workspace_size({}, vocab_size) + lattice::workspace_size(entries);
    } else if (format.format == law_format::fp16_row) {
      entries = vocab_size;
    }
    if (!carries_claims(format.format))
      digest_space_.resize(digest_workspace_size(vocab_size, transform, wanted(state)) + workspace_alignment);
    scratch_.resize(scratch);
    ids_.resize(std::size_t{entries} + 1);
    counts_.resize(std::size_t{entries} + 1);
  }

  [[nodiscard]] const Sparsifier& rule() const noexcept { return sparsifier_; }
  //! K of the plan goes to a rule that keeps K tokens, where the format limits K or the window has a budget.
  template <class Window>
  void begin_round(const Window& window, const draft_plan& plan) noexcept {
    if constexpr (requires { sparsifier_.support_size; }) {
      if (!has_support(format_.format)) return;
      if (format_.support_size != 0)
        sparsifier_.support_size = std::min(plan.support_size, format_.support_size - (wishes_.whole_row ? 1u : 0u));
      if constexpr (budgeted_window<Window>) {
        if (format_.support_size == 0) sparsifier_.support_size = std::min(plan.support_size, own_size_);
        const budget_clamp cut = window.clamp();
        budget_cap_ = cut.clamped && !cut.dense && sparsifier_.support_size == cut.support_size ? cut.support_size : 0;
      }
    }
  }
  //! Whether the window's budget cut the support of the last law.
  [[nodiscard]] bool is_clamped() const noexcept { return clamped_; }
  //! Tokens that the rule kept for the last law; 0 where the format takes no support.
  [[nodiscard]] std::uint32_t support_size() const noexcept { return has_support(format_.format) ? kept_.size() : 0; }
  //! At most the format's own.
  void set_resolution(std::uint32_t resolution) noexcept { format_.resolution = resolution; }

  //! The law of a row; its arrays are the drafter's own until the next call. `state` becomes the state after this
  //! position.
  template <execution_policy Policy, class Scalar, class Window>
  [[nodiscard]] status propose(Policy policy, row_view<Scalar> row, const row_transform& transform,
                               const Window& window, state_type& state, law& out) noexcept {
    workspace space{std::span<std::byte>(digest_space_)};
    workspace scratch{std::span<std::byte>(scratch_)};
    if (const status why = keep(policy, row, transform, window, state, space, scratch, summary_); !why.ok()) return why;
    if (format_.format == law_format::fp16_row) {
      fp16_row made;
      if (const status why = fp16_row_counts(policy, row, transform, summary_, space, ids_, counts_, made); !why.ok())
        return why;
      if (const status why = finish(made.size, out); !why.ok()) return why;
      kept_ = {};
      whole_ = out;
      return {};
    }
    if (format_.format == law_format::top_k_tail) {
      workspace law_space{std::span<std::byte>(law_space_)};
      const auto made = compressed_law(kept_, {value_format::lattice, format_.resolution, true}, law_space);
      if (made) out = *made;
      return made.error();
    }
    const auto quantized = is_sparse(format_.format)
                               ? sparse_lattice{}.quantize(kept_, format_.resolution, counts_, scratch)
                               : lattice{}.quantize(kept_, format_.resolution, counts_, scratch);
    if (!quantized) return quantized.error();
    std::uint32_t size = kept_.size();
    for (std::uint32_t i = 0; i < size; ++i) ids_[i] = kept_.ids[i];
    if (format_.format == law_format::sparse_paper) return finish(size, out);
    const auto positive = drop_zero(std::span<const token_id>(ids_).first(size),
                                    std::span<const std::uint32_t>(counts_).first(size), ids_, counts_);
    return positive ? finish(*positive, out) : positive.error();
  }

  //! The paper's order: the token from the row itself, the law that travels after it (`claim_beside`).
  template <execution_policy Policy, class Scalar, class Window, uniform_source Source>
  [[nodiscard]] status draw_foreign(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                    const Window& window, state_type& state, const Source& source,
                                    random_counter counter, token_id& token) noexcept {
    workspace space{std::span<std::byte>(digest_space_)};
    workspace scratch{std::span<std::byte>(scratch_)};
    sampled_token drawn;
    if (const status why = keep(policy, row, transform, window, state, space, scratch, summary_); !why.ok()) return why;
    if (const status why = sample(policy, row, transform, summary_, space, source, counter, {}, drawn); !why.ok())
      return why;
    token = drawn.token;
    return {};
  }

  //! The law of the token that `draw_foreign` gave: what a rejection will subtract. A token that the lattice left
  //! nothing gets one unit of the largest entry: what travels names it.
  [[nodiscard]] status claim_beside(const drawn_token& drawn, law& out) noexcept {
    const token_id token = drawn.token;
    workspace space{std::span<std::byte>(digest_space_)};
    workspace law_space{std::span<std::byte>(law_space_)};
    if constexpr (token_sparsifier<Sparsifier>) {
      workspace scratch{std::span<std::byte>(scratch_)};
      if (const status why = sparsifier_.select_beside(summary_, space, scratch, drawn, kept_); !why.ok()) return why;
      if (kept_.ids.size() > ids_.size()) return {errc::support_too_large, part::session, kept_.size()};
    }
    const compressed_law_options options{value_format::lattice, format_.resolution, true};
    const auto made = compressed_draft(summary_, space, kept_, token, options, law_space);
    if (!made) return made.error();
    const law& from = made->claimed_law;
    if (from.size > ids_.size()) return {errc::support_too_large, part::session, from.size};
    std::copy_n(from.ids, from.size, ids_.begin());
    std::copy_n(from.counts, from.size, counts_.begin());
    const std::uint32_t place = from.find(token);
    if (place < from.size && counts_[place] == 0) {
      const std::uint32_t unit = std::max<std::uint32_t>(1, from.vocab_size - from.size);
      *std::max_element(counts_.begin(), counts_.begin() + from.size) -= unit;
      counts_[place] = unit;
    }
    const auto claimed =
        make_law(std::span<const token_id>(ids_).first(from.size),
                 std::span<const std::uint32_t>(counts_).first(from.size), format_.vocab_size, from.tail_count);
    if (claimed) out = *claimed;
    return claimed.error();
  }

  //! What the row of the last proposal gives a token, before any lattice; 0 where its digest does not say. O(log K).
  [[nodiscard]] float probability(token_id token) const noexcept {
    if (format_.format == law_format::fp16_row)
      return static_cast<float>(whole_.count(token)) / static_cast<float>(whole_.resolution);
    if (kept_.total_weight == 0) return 0;
    const auto place = std::lower_bound(kept_.ids.begin(), kept_.ids.end(), token);
    if (place == kept_.ids.end() || *place != token) return 0;
    const std::uint32_t weight = kept_.weights[static_cast<std::size_t>(place - kept_.ids.begin())];
    return static_cast<float>(static_cast<double>(weight) / static_cast<double>(kept_.total_weight));
  }

 private:
  [[nodiscard]] std::uint32_t support_bound() const noexcept {
    std::uint32_t bound = format_.vocab_size;
    if constexpr (requires { sparsifier_.support_size; })
      bound = sparsifier_.support_size < bound ? sparsifier_.support_size : bound;
    if (format_.support_size != 0 && format_.support_size > bound) bound = format_.support_size;
    return bound < format_.vocab_size ? bound : format_.vocab_size;
  }
  [[nodiscard]] top_k lattice_support() const noexcept {
    return {lattice_support_size(format_.vocab_size, format_.resolution), true};
  }

  [[nodiscard]] read_request wanted(const state_type& state) const noexcept {
    read_request made;
    if (format_.format == law_format::fp16_row) {
      made.exact_normaliser = true;
    } else if (format_.format == law_format::dense_lattice) {
      made = lattice_support().request({}, format_.vocab_size);
    } else {
      made = sparsifier_.request(state, format_.vocab_size);
    }
    if (format_.format == law_format::top_k_tail || (wishes_.probabilities && format_.format != law_format::fp16_row))
      made.integer_total = true;
    if (wishes_.whole_row) made.survivors = format_.vocab_size;
    return made;
  }

  //! Digests the row and keeps the tokens that the rule names; `kept_` lives in `scratch`.
  template <class Policy, class Scalar, class Window>
  [[nodiscard]] status keep(Policy policy, row_view<Scalar> row, const row_transform& transform, const Window& window,
                            state_type& state, workspace& space, workspace& scratch, row_digest& summary) noexcept {
    clamped_ = false;
    if (row.valid_size() > format_.vocab_size) return {errc::vocabulary_mismatch, part::session, row.valid_size()};
    if (const status why = digest(policy, row, transform, wanted(state), space, summary); !why.ok()) return why;
    if (format_.format == law_format::fp16_row) return {};
    if constexpr (token_sparsifier<Sparsifier>) {
      if (wishes_.whole_row) return {};  // `claim_beside` selects
    }
    const bool ruled = has_support(format_.format);
    const std::size_t mark = scratch.mark();
    const status selected = ruled ? sparsifier_.select(summary, space, scratch, state, kept_)
                                  : lattice_support().select(summary, space, scratch, {}, kept_);
    if (!selected.ok()) return selected;
    if (kept_.ids.size() > ids_.size()) return {errc::support_too_large, part::session, kept_.size()};
    if (!ruled) return {};
    if constexpr (budgeted_window<Window> && requires { sparsifier_.support_size; }) {
      clamped_ =
          budget_cap_ != 0 && kept_.size() >= budget_cap_ && (kept_.total_weight == 0 || dropped_mass(kept_) > 0);
    } else if constexpr (budgeted_window<Window> && requires { sparsifier_.max_support_size; }) {
      if (const budget_clamp cut = window.clamp(kept_.size()); cut.clamped) {
        scratch.rewind(mark);
        return keep_capped(cut.support_size, state, space, scratch, summary);
      }
    }
    state = sparsifier_.advance(state, kept_);
    return {};
  }

  //! The rule once more, capped at the largest tokens that the budget leaves, so that its state learns that the cap
  //! binds.
  [[nodiscard]] status keep_capped(std::uint32_t cap, state_type& state, const workspace& space, workspace& scratch,
                                   const row_digest& summary) noexcept {
    const std::uint32_t own = std::exchange(sparsifier_.max_support_size, cap);
    const status selected = sparsifier_.select(summary, space, scratch, state, kept_);
    if (selected.ok()) state = sparsifier_.advance(state, kept_);
    sparsifier_.max_support_size = own;
    clamped_ = selected.ok();
    return selected;
  }

  [[nodiscard]] status finish(std::uint32_t size, law& out) const noexcept {
    const auto made = make_law(std::span<const token_id>(ids_).first(size),
                               std::span<const std::uint32_t>(counts_).first(size), format_.vocab_size);
    if (made) out = *made;
    return made.error();
  }

  draft_format format_;
  Sparsifier sparsifier_;
  drafter_wishes wishes_;
  std::vector<std::byte> digest_space_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> law_space_;
  std::vector<token_id> ids_;
  std::vector<std::uint32_t> counts_;
  row_digest summary_{};
  support kept_{};
  law whole_{};
  std::uint32_t own_size_ = 0;    // K of the rule as it was given
  std::uint32_t budget_cap_ = 0;  // what the round's budget makes of a K that costs more; 0: it leaves K as it is
  bool clamped_ = false;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
