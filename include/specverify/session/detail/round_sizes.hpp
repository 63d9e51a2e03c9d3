// SPDX-License-Identifier: Apache-2.0
//! K, L, l and V of a session: each is said in one of its places, and here it reaches the others or is refused.
#ifndef SPECVERIFY_SESSION_DETAIL_ROUND_SIZES_HPP
#define SPECVERIFY_SESSION_DETAIL_ROUND_SIZES_HPP

#include <specverify/policy/concepts.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/options.hpp>
#include <specverify/sparsify/concepts.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The one place where a plan is cut: what a window answers for a round, to what was agreed on. `most_kept`: K of the
//! sparsifier.
[[nodiscard]] constexpr draft_plan cut_plan(draft_plan plan, const draft_format& format,
                                            std::uint32_t most_kept) noexcept {
  plan.max_draft_length = std::min(plan.max_draft_length, format.max_draft_length);
  if (plan.resolution == 0 || plan.resolution > format.resolution || !format.attachments.resolution_with_draft)
    plan.resolution = format.resolution;
  if (plan.support_size == 0 || plan.support_size > most_kept) plan.support_size = most_kept;
  return plan;
}

//! Tokens that a sparsifier may list in the format's laws; V where the format says no limit.
[[nodiscard]] constexpr std::uint32_t support_room(const wire_format& format, bool draw_from_row) noexcept {
  const std::uint32_t token = draw_from_row ? 1u : 0u;  // its own entry
  return format.support_size > token ? format.support_size - token : format.vocab_size;
}

//! Tokens that a sparsifier keeps at most.
template <class Sparsifier>
[[nodiscard]] constexpr std::uint32_t most_kept(const Sparsifier& sparsifier, const wire_format& format) noexcept {
  std::uint32_t most = 0;
  if (has_support(format.format)) {
    if constexpr (requires { sparsifier.support_size; }) {
      most = sparsifier.support_size;
    } else if constexpr (requires { sparsifier.max_support_size; }) {
      most = sparsifier.max_support_size;
    }
  }
  return most > 0 ? most : format.vocab_size;
}

//! Whether a window may send all V tokens instead of K.
template <class Window>
[[nodiscard]] constexpr bool may_send_all(const Window& window) noexcept {
  if constexpr (requires { window.allow_dense; }) return window.allow_dense;
  return false;
}

//! V as the window counts with it; nullptr: it does not. A constant window gives a constant V.
template <class Window>
[[nodiscard]] constexpr auto vocab_size_of(Window& window) noexcept {
  if constexpr (requires { requires std::same_as<decltype(window.vocab_size), std::uint32_t>; }) {
    return &window.vocab_size;
  } else if constexpr (requires { requires std::same_as<decltype(window.model.vocab_size), std::uint32_t>; }) {
    return &window.model.vocab_size;
  } else {
    return static_cast<std::uint32_t*>(nullptr);
  }
}

//! The same number is said twice and differently.
[[nodiscard]] constexpr status disagree(std::uint32_t where) noexcept {
  return {errc::options_disagree, part::session, where};
}

//! What `make_edge` was given, with every number that was left at 0 filled in.
template <class Sparsifier, class Window>
struct round_sizes {
  edge_options options;
  Sparsifier sparsifier;
  Window window;
  bool has_sparsifier;  // one was given

  constexpr round_sizes(const edge_options& said, const std::optional<Sparsifier>& kept, const Window& planned)
      : options(said), sparsifier(kept ? *kept : Sparsifier{}), window(planned), has_sparsifier(kept.has_value()) {
    if (std::uint32_t* const counted = vocab_size_of(window); counted != nullptr && *counted == 0)
      *counted = options.vocab_size;
    draft_format& format = options.format;
    const draft_plan most = range().most;
    const std::uint32_t length = format.max_draft_length > 0 ? format.max_draft_length : default_draft_length;
    fill(format, most);
    fill_sparsifier(most.support_size);
    if constexpr (planned_window<Window>) {
      draft_plan& plan = window.plan;
      if (plan.max_draft_length == 0) plan.max_draft_length = length;
      if (plan.resolution == 0) plan.resolution = format.resolution;
      if (plan.support_size == 0) plan.support_size = most_kept(sparsifier, format_of(options));
    }
  }

  //! Errors: options_disagree (`where` = edge_options::at_*).
  [[nodiscard]] constexpr status check() const noexcept {
    if (const auto* counted = vocab_size_of(window); counted != nullptr && *counted != options.vocab_size)
      return disagree(options.at_vocab_size);
    if (range().most.max_draft_length > options.format.max_draft_length) return disagree(options.at_max_draft_length);
    if (!resolutions_agree()) return disagree(options.at_resolution);
    if (!has_support(options.format.format) && has_sparsifier) return disagree(options.at_sparsifier);
    return check_support();
  }

 private:
  [[nodiscard]] constexpr plan_range range() const noexcept {
    if constexpr (planned_window<Window>) {
      return {window.plan, window.plan};
    } else if constexpr (ranged_window<Window>) {
      return window.range();
    } else {
      return {};
    }
  }

  //! `planned`: K of the window. A cap that was not given is what the format carries.
  constexpr void fill_sparsifier(std::uint32_t planned) noexcept {
    const wire_format format = format_of(options);
    if (!has_support(format.format)) return;
    const bool limited = format.support_size > 0;
    const std::uint32_t room = support_room(format, options.draw_from_row);
    if constexpr (requires { sparsifier.support_size; }) {
      if (!has_sparsifier && (limited || planned > 0)) sparsifier.support_size = limited ? room : planned;
    } else if constexpr (requires { sparsifier.max_support_size; }) {
      if (sparsifier.max_support_size == 0 && limited) sparsifier.max_support_size = room;
    }
  }

  //! Only drafts that say their own l may have another one than the format, and a smaller one. A window that knows its
  //! plans may name an l of a format without lattice: it is part of its model.
  [[nodiscard]] constexpr bool resolutions_agree() const noexcept {
    const draft_format& format = options.format;
    const plan_range plans = range();
    if (!planned_window<Window> && (!ranged_window<Window> || !has_lattice(format.format))) return true;
    if (plans.most.resolution > format.resolution) return false;
    return format.attachments.resolution_with_draft || plans.least.resolution == format.resolution;
  }

  [[nodiscard]] constexpr status check_support() const noexcept {
    const wire_format format = format_of(options);
    const std::uint32_t kept = most_kept(sparsifier, format_of(options));
    if constexpr (planned_window<Window>) {
      if (window.plan.support_size != kept) return disagree(options.at_window_support_size);
    }
    if (!has_support(format.format)) return {};
    std::uint32_t listed = std::min(kept, format.vocab_size);
    if constexpr (requires { sparsifier.support_size; }) {
      if constexpr (ranged_window<Window>) {
        if (const std::uint32_t planned = range().most.support_size; planned > 0 && planned != kept)
          return disagree(options.at_window_support_size);
      }
      if constexpr (budgeted_window<Window>) listed = std::min(listed, window.clamp().support_size);
      if (may_send_all(window)) listed = format.vocab_size;
      if (format.format == law_format::sparse_paper && format.support_size > 0 && listed != format.support_size)
        return disagree(options.at_support_size);
    } else if constexpr (!requires { sparsifier.max_support_size; }) {
      return {};  // how many tokens it keeps is known row by row
    }
    return listed > support_room(format, options.draw_from_row) ? disagree(options.at_support_size) : status{};
  }
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
