// SPDX-License-Identifier: Apache-2.0
//! Makes an edge from parts (sparsifier, window, skip policy) and hides the types of the parts. After `make_edge` only
//! `parts_of` contains these types.
#ifndef SPECVERIFY_SESSION_DETAIL_MAKE_EDGE_HPP
#define SPECVERIFY_SESSION_DETAIL_MAKE_EDGE_HPP

#include <specverify/policy/budgeted.hpp>
#include <specverify/policy/detail/part_kinds.hpp>
#include <specverify/quantize/claim.hpp>
#include <specverify/session/detail/parts.hpp>
#include <specverify/session/detail/record_fields.hpp>
#include <specverify/session/detail/round_sizes.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/edge_session.hpp>

#include <memory>
#include <optional>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
class parts_of final : public edge_parts {
 public:
  using state_type = typename Sparsifier::state_type;
  using allocator = SPECVERIFY_ALLOCATOR<parts_of>;
  //! Whether the skip policy may skip tokens. `always_send` skips no tokens and costs nothing.
  static constexpr bool gates = Skip::strength != guarantee::unconditional;

  parts_of(const allocator& memory, const wire_format& format, const Sparsifier& sparsifier, const Window& window,
           const Skip& skip)
      : memory_(memory), sparsifier_(sparsifier), window_(window), skip_(skip), format_(format) {
    // The format sparse_paper needs exactly K ids.
    if constexpr (requires { sparsifier_.exactly; })
      sparsifier_.exactly = format_.format == law_format::sparse_paper && format_.support_size != 0;
    most_kept_ =
        may_send_all(window) ? format_.vocab_size : detail::most_kept(sparsifier, format_.format, format_.vocab_size);
  }

  //! Allocates the parts in one block with a fixed address, so that the pointer stays valid if the session is moved.
  [[nodiscard]] static held_parts make(const wire_format& format, const Sparsifier& sparsifier, const Window& window,
                                       const Skip& skip, parts_facts& facts) {
    allocator memory;
    const auto give_back = [&memory](parts_of* block) noexcept { memory.deallocate(block, 1); };
    // If a copy of a part throws, `block` frees the memory.
    std::unique_ptr<parts_of, decltype(give_back)> block(memory.allocate(1), give_back);
    held_parts made(std::construct_at(block.get(), memory, format, sparsifier, window, skip));
    facts = block.release()->facts();
    return made;
  }
  void destroy() noexcept override {
    allocator memory = memory_;
    std::destroy_at(this);
    memory.deallocate(this, 1);
  }

  void initial(std::byte* state) const noexcept override { store_state(sparsifier_.initial_state(), state); }
  draft_plan plan(const observation& seen) noexcept override {
    const draft_plan plan = cut_plan(window_.begin(seen), format_, most_kept_);
    if constexpr (sized_sparsifier<Sparsifier>) sparsifier_.support_size = plan.support_size;
    return plan;
  }
  read_request request(const std::byte* state) const noexcept override {
    return asked_for(sparsifier_, load_state<state_type>(state));
  }
  result<support> select(const row_summary& row, const drawn_token* drawn, std::byte* bytes,
                         workspace& scratch) const noexcept override {
    const state_type state = load_state<state_type>(bytes);
    const result<support> kept = choose(row, drawn, state, scratch);
    if (kept) store_state(sparsifier_.advance(state, *kept), bytes);
    return kept;
  }
  bool takes(window_progress& so_far, std::uint32_t position, const law& next) const noexcept override {
    return takes_position(window_, so_far, position, next);
  }
  result<gate_answer> ask(const skip_observation& seen) const noexcept override {
    gate_answer answer;
    if constexpr (gates) {
      if constexpr (Skip::needs_attention) {
        if (const result<bool> usable = skip_.importance.eligible(seen.attention); !usable) return usable.error();
      }
      answer.keep = !skip_.send(seen);
      if constexpr (requires { skip_.uncertain(seen); }) answer.uncertain = skip_.uncertain(seen);
    }
    return answer;
  }

 private:
  //! Returns the sparsifier's request. If distributions list no support, returns an empty request, because the
  //! sparsifier is not used and may be missing.
  [[nodiscard]] read_request asked_for(const Sparsifier& sparsifier, const state_type& state) const noexcept {
    return has_support(format_.format) ? sparsifier.request(state, format_.vocab_size) : read_request{};
  }
  //! Returns the properties of the parts. If copying the sparsifier throws, the exception passes through.
  [[nodiscard]] parts_facts facts() const {
    parts_facts made;
    made.format = format_;
    made.strength = Skip::strength;
    made.gates = gates;
    made.needs_coin = Skip::needs_coin;
    made.needs_attention = Skip::needs_attention;
    made.needs_uncertainty = Skip::needs_uncertainty;
    if constexpr (Skip::needs_uncertainty) made.perturbation = skip_.perturbation;
    made.needs_probabilities = requires { requires Window::needs_probabilities; };
    made.unconditional = requires { requires Window::unconditional; };
    made.charges = charging_window<Window>;
    if constexpr (requires { sparsifier_.update_on_bonus; }) made.counts_beyond = sparsifier_.update_on_bonus;
    made.most_kept = most_kept_;
    made.state_bytes = detail::state_bytes<state_type>;
    // Arrays must be large enough for every round and every state.
    Sparsifier widest = sparsifier_;
    if constexpr (sized_sparsifier<Sparsifier>) widest.support_size = most_kept_;
    const state_type state = widest_state(sparsifier_);
    made.widest = asked_for(widest, state);
    if (carries_claims(format_.format)) return made;
    const draft_law_options law{format_.format, format_.resolution};
    made.law_bytes =
        (format_.attachments.drafted_probability ? claim_workspace_size(format_.vocab_size, widest, state)
                                                 : draft_law_workspace_size(format_.vocab_size, widest, state, law)) +
        workspace_alignment;
    return made;
  }

  [[nodiscard]] result<support> choose(const row_summary& row, const drawn_token* drawn, const state_type& state,
                                       workspace& scratch) const noexcept {
    if constexpr (token_sparsifier<Sparsifier>) {
      if (drawn != nullptr) return sparsifier_.select_with_token(row, *drawn, scratch);
    }
    if constexpr (budgeted_window<Window>) {
      return select_within_budget(sparsifier_, window_, row, state, scratch);
    } else {
      return sparsifier_.select(row, state, scratch);
    }
  }

  [[no_unique_address]] allocator memory_;
  Sparsifier sparsifier_;
  Window window_;
  Skip skip_;
  wire_format format_;
  std::uint32_t most_kept_ = 0;  // K of the given sparsifier; V if the window may send all tokens
};

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
[[nodiscard]] result<edge_session> make_edge_of(const edge_options& options,
                                                const std::optional<Sparsifier>& sparsifier, const Window& window,
                                                const Skip& skip) {
  using parts = parts_of<Sparsifier, Window, Skip>;
  const Sparsifier kept = sparsifier ? *sparsifier : Sparsifier{};
  Window planned = window;
  count_with_sizes(planned, options.format, options.vocab_size, kept);
  const wire_format format = format_with(options, options.vocab_size, kept, planned);
  if (const status why = edge_maker::check(options, format); !why.ok()) return why;
  if (parts::gates && options.attachments.max_skipped == 0)
    return status{errc::invalid_argument, part::session, options.at_max_skipped};
  if (sparsifier && !has_support(options.format))
    return status{errc::options_disagree, part::session, options.at_sparsifier};
  if (has_support(options.format)) {
    if (const status why = check_if_any(kept); !why.ok()) return why;
  }
  if (const status why = check_if_any(planned); !why.ok()) return why;
  if (const status why = check_if_any(skip); !why.ok()) return why;
  return within_memory([&]() -> result<edge_session> {
    parts_facts facts;
    held_parts held = parts::make(format, kept, planned, skip, facts);
    return edge_maker::make(options, facts, std::move(held));
  });
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
