// SPDX-License-Identifier: Apache-2.0
//! Derives the format of the messages: the support size K from the sparsifier, the draft length L and the resolution l
//! from the window, the vocabulary size V and the distribution format from the options.
#ifndef SPECVERIFY_SESSION_DETAIL_ROUND_SIZES_HPP
#define SPECVERIFY_SESSION_DETAIL_ROUND_SIZES_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/distribution/draft.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/sparsify/concepts.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr bool has_lattice(law_format format) noexcept {
  return has_support(format) || format == law_format::dense_lattice;
}

//! Returns the maximum K: the tokens that a sparsifier keeps if distributions list a support, otherwise V.
template <class Sparsifier>
[[nodiscard]] constexpr std::uint32_t most_kept(const Sparsifier& sparsifier, law_format format,
                                                std::uint32_t vocab_size) noexcept {
  std::uint32_t most = vocab_size;
  if (!has_support(format)) return most;
  if constexpr (sized_sparsifier<Sparsifier>) {
    most = sparsifier.support_size;
  } else if constexpr (capped_sparsifier<Sparsifier>) {
    most = sparsifier.max_support_size;
  }
  return most == 0 || most > vocab_size ? vocab_size : most;
}

//! Returns whether a window may send all V tokens instead of K.
template <class Window>
[[nodiscard]] constexpr bool may_send_all(const Window& window) noexcept {
  if constexpr (requires { window.allow_dense; }) return window.allow_dense;
  return false;
}

//! Returns K of a format for distributions of up to `entries` tokens; 0 means any number. The format sparse_paper needs
//! an exact K, which requires a sparsifier with `exactly` and a window that never plans a different K.
template <class Sparsifier, class Window>
[[nodiscard]] constexpr std::uint32_t carried_entries(law_format format, const Sparsifier& sparsifier,
                                                      const Window& window, std::uint32_t entries,
                                                      std::uint32_t vocab_size) noexcept {
  if (!has_support(format) || may_send_all(window)) return 0;
  if (format != law_format::sparse_paper) return entries < vocab_size ? entries : 0;
  if constexpr (requires { sparsifier.exactly; }) {
    if constexpr (budgeted_window<Window>) return window.clamp().support_size;
    if constexpr (std::same_as<Window, fixed_window>) return entries;
  }
  return 0;
}

//! Sets V and K in a window whose counts need them.
template <class Sparsifier, class Window>
constexpr void count_with_sizes(Window& window, law_format format, std::uint32_t vocab_size,
                                const Sparsifier& sparsifier) noexcept {
  if constexpr (counting_window<Window>) window.count_with(vocab_size, most_kept(sparsifier, format, vocab_size));
}

//! Returns the format of the messages of an edge with these parts. The window must already have V and K
//! (`count_with_sizes`). `Chosen` is edge_options or a preset, and chooses the kind of distribution, the attachments
//! and the padding.
template <class Chosen, class Sparsifier, class Window>
[[nodiscard]] constexpr wire_format format_with(const Chosen& chosen, std::uint32_t vocab_size,
                                                const Sparsifier& sparsifier, const Window& window) noexcept {
  plan_range plans;
  if constexpr (ranged_window<Window>) plans = window.range();
  wire_format made;
  made.format = chosen.format;
  made.vocab_size = vocab_size;
  made.max_draft_length = plans.max_draft_length;
  made.pad_to = chosen.pad_to;
  made.attachments = chosen.attachments;
  made.attachments.drafted_probability = chosen.draw_from_row;
  made.attachments.resolution_with_draft =
      has_lattice(chosen.format) && plans.least_resolution != plans.most_resolution;
  if (has_lattice(chosen.format)) made.resolution = plans.most_resolution;
  if constexpr (requires { chosen.prior; }) {
    if (chosen.prior != nullptr) made.ids = chosen.ids;
  }
  const std::uint32_t token = chosen.draw_from_row ? 1u : 0u;  // one more entry, for the drawn token
  made.support_size = carried_entries(chosen.format, sparsifier, window,
                                      most_kept(sparsifier, chosen.format, vocab_size) + token, vocab_size);
  return made;
}

//! Like `format_with`, but with the parts that the user passed. Copying a part may throw.
template <class Chosen, class Sparsifier, class Window>
[[nodiscard]] constexpr wire_format format_of_parts(const Chosen& chosen, std::uint32_t vocab_size,
                                                    const std::optional<Sparsifier>& given, Window window) {
  const Sparsifier sparsifier = given ? *given : Sparsifier{};
  count_with_sizes(window, chosen.format, vocab_size, sparsifier);
  return format_with(chosen, vocab_size, sparsifier, window);
}

//! Limits a window's plan to the format and to K. Only `begin_round` limits L further, to the rest of the text.
[[nodiscard]] constexpr draft_plan cut_plan(draft_plan plan, const wire_format& format,
                                            std::uint32_t most_kept) noexcept {
  plan.max_draft_length = std::min(plan.max_draft_length, format.max_draft_length);
  if (plan.resolution == 0 || plan.resolution > format.resolution || !format.attachments.resolution_with_draft)
    plan.resolution = format.resolution;
  if (plan.support_size == 0 || plan.support_size > most_kept) plan.support_size = most_kept;
  return plan;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
