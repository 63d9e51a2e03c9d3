// SPDX-License-Identifier: Apache-2.0
//! One row of the drafter's logits to the law that is drawn from and travels, in the format that hello agreed on: what
//! the edge keeps between rows for quantize/draft_law.hpp and quantize/claim.hpp.
#ifndef SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP
#define SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP

#include <specverify/distribution/draft_block.hpp>
#include <specverify/policy/budgeted.hpp>
#include <specverify/quantize/claim.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/session/detail/round_sizes.hpp>
#include <specverify/session/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! What a drafter makes apart from laws.
struct drafter_wishes {
  bool probabilities = false;  //!< the row's own probability of drawn tokens
  bool whole_row = false;      //!< tokens are drawn from the row, and their laws only travel (lossy)
  bool all_tokens = false;     //!< a round may keep all V tokens instead of K
  bool measured = false;       //!< rows are drawn from at other temperatures, too
};

template <sparsifier Sparsifier>
class drafter {
 public:
  using state_type = typename Sparsifier::state_type;

  drafter(const wire_format& format, const row_transform& transform, const Sparsifier& sparsifier,
          drafter_wishes wishes)
      : format_(format), sparsifier_(sparsifier), wishes_(wishes) {
    const std::uint32_t vocab_size = format.vocab_size;
    // The papers' code names exactly K ids.
    if constexpr (requires { sparsifier_.exactly; })
      sparsifier_.exactly = format.format == law_format::sparse_paper && format.support_size != 0;
    most_kept_ = wishes.all_tokens ? vocab_size : detail::most_kept(sparsifier, format);
    entries_ = std::min(most_kept_, vocab_size);
    Sparsifier widest = sparsifier_;
    if constexpr (requires { widest.support_size; }) {
      widest.support_size = entries_;
    }
    const state_type state = widest_state(sparsifier);
    reading_space_ = untouched_memory<std::byte>(digest_workspace_size(vocab_size, transform, wanted(widest, state)) +
                                                 workspace_alignment);
    if (carries_claims(format.format)) return;
    scratch_ = untouched_memory<std::byte>((wishes.whole_row
                                                ? claim_workspace_size(vocab_size, widest, state)
                                                : draft_law_workspace_size(vocab_size, widest, state, law_options())) +
                                           workspace_alignment);
  }

  [[nodiscard]] const Sparsifier& sparsifier() const noexcept { return sparsifier_; }
  //! K that a round may plan at most.
  [[nodiscard]] std::uint32_t most_kept() const noexcept { return most_kept_; }
  //! K of a round, for a sparsifier that keeps K tokens.
  void set_support_size(std::uint32_t size) noexcept {
    if constexpr (requires { sparsifier_.support_size; }) sparsifier_.support_size = size;
  }
  //! Whether the window's budget cut the support of the last law.
  [[nodiscard]] bool is_clamped() const noexcept { return kept_.cut; }
  //! Tokens that the sparsifier kept for the last law; 0 where the format takes no support.
  [[nodiscard]] std::uint32_t support_size() const noexcept { return has_support(format_.format) ? kept_.size() : 0; }
  //! At most the format's own.
  void set_resolution(std::uint32_t resolution) noexcept { format_.resolution = resolution; }

  //! The row as a law of this format needs it; the reading holds until the next one.
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] result<row_reading<Policy, Scalar>> read(Policy policy, row_view<Scalar> row,
                                                         const row_transform& transform,
                                                         const state_type& state) noexcept {
    workspace scratch{std::span<std::byte>(reading_space_)};
    result<row_reading<Policy, Scalar>> reading = read_row(policy, row, transform, wanted(sparsifier_, state), scratch);
    if (!reading) return named_truncation(reading.error(), edge_options::at_truncation);
    return reading;
  }

  //! The law of the next draft; its arrays are the drafter's own until the next call. `state` becomes the state after
  //! this position.
  template <execution_policy Policy, class Scalar, class Window>
  [[nodiscard]] result<law> draft(const row_reading<Policy, Scalar>& row, const Window& window,
                                  state_type& state) noexcept {
    workspace scratch{std::span<std::byte>(scratch_)};
    const auto made = under_budget(window, [&](const auto& sparsifier) noexcept {
      return make_draft_law(row, sparsifier, state, law_options(), scratch);
    });
    if (!made) return made.error();
    drafted_ = made->drafted;
    if (format_.format != law_format::top_k_tail) drafted_.vocab_size = format_.vocab_size;
    if (const status why = learn(made->kept, state); !why.ok()) return why;
    return drafted_;
  }

  //! What travels with a token drawn from the row. Else as `draft`.
  template <class Window>
  [[nodiscard]] result<drafted_claim> claim_law(const row_summary& row, const Window& window, state_type& state,
                                                const drawn_token& drawn) noexcept {
    workspace scratch{std::span<std::byte>(scratch_)};
    auto made = [&]() noexcept {
      if constexpr (token_sparsifier<Sparsifier>) {
        return make_claim(row, sparsifier_, state, drawn, law_options(), scratch);
      } else {
        return under_budget(window, [&](const auto& sparsifier) noexcept {
          return make_claim(row, sparsifier, state, drawn, law_options(), scratch);
        });
      }
    }();
    if (!made) return made;
    if (const status why = learn(made->kept, state); !why.ok()) return why;
    const law& from = made->claimed;
    if (from.size > entries_ + 1) return status{errc::support_too_large, part::session, from.size};
    const auto whole = make_law({from.ids, from.size}, {from.counts, from.size}, format_.vocab_size, from.tail_count);
    if (!whole) return whole.error();
    made->claimed = *whole;
    return made;
  }

  //! A token was drawn from the row, its law does not travel: a sparsifier that learns has seen the position all the
  //! same.
  template <class Window>
  [[nodiscard]] status pass(const row_summary& row, const Window& window, state_type& state) noexcept {
    if constexpr (!std::is_same_v<state_type, no_state>) {
      workspace scratch{std::span<std::byte>(scratch_)};
      const auto kept =
          under_budget(window, [&](const auto& sparsifier) noexcept { return sparsifier.select(row, state, scratch); });
      return kept ? learn(*kept, state) : kept.error();
    }
    return {};
  }

  //! What the row of the last law gives a token, before any lattice; 0 where its reading does not say. O(log K).
  [[nodiscard]] float probability(token_id token) const noexcept {
    if (format_.format == law_format::fp16_row)
      return static_cast<float>(drafted_.count(token)) / static_cast<float>(drafted_.resolution);
    if (kept_.total_weight == 0) return 0;
    const auto place = std::lower_bound(kept_.ids.begin(), kept_.ids.end(), token);
    if (place == kept_.ids.end() || *place != token) return 0;
    const std::uint32_t weight = kept_.weights[static_cast<std::size_t>(place - kept_.ids.begin())];
    return static_cast<float>(static_cast<double>(weight) / static_cast<double>(kept_.total_weight));
  }

 private:
  [[nodiscard]] draft_law_options law_options() const noexcept { return {format_.format, format_.resolution}; }

  [[nodiscard]] read_request wanted(const Sparsifier& sparsifier, const state_type& state) const noexcept {
    read_request made = draft_law_request(format_.vocab_size, sparsifier, state, law_options());
    if (wishes_.probabilities && carries_laws(format_.format) && format_.format != law_format::fp16_row) [[unlikely]]
      made.integer_total = true;
    if (wishes_.whole_row) [[unlikely]]
      made.survivors = format_.vocab_size;
    made.sums |= wishes_.whole_row || wishes_.measured;
    return made;
  }

  //! `use` with the sparsifier, under the window's budget where it has one.
  template <class Window, class Use>
  [[nodiscard]] auto under_budget(const Window& window, const Use& use) const noexcept {
    if constexpr (budgeted_window<Window>) {
      return use(budgeted<Sparsifier, Window>{sparsifier_, window});
    } else {
      return use(sparsifier_);
    }
  }

  //! The support of this position; where the sparsifier chose it, its state learns from it.
  [[nodiscard]] status learn(const support& kept, state_type& state) noexcept {
    kept_ = kept;
    if (!has_support(format_.format)) return {};
    if (kept.size() > entries_ + 1) return {errc::support_too_large, part::session, kept.size()};
    state = sparsifier_.advance(state, kept);
    return {};
  }

  wire_format format_;
  Sparsifier sparsifier_;
  drafter_wishes wishes_;
  untouched_memory<std::byte> reading_space_;
  untouched_memory<std::byte> scratch_;
  support kept_{};
  law drafted_{};
  std::uint32_t entries_ = 0;    // tokens that a law may list
  std::uint32_t most_kept_ = 0;  // K of the sparsifier as it was given
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
