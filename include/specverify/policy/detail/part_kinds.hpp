// SPDX-License-Identifier: Apache-2.0
//! Finds the kind of an edge's custom part (sparsifier, window or skip policy) from the part's type. If a type is not
//! such a part, the compiler's error names the missing member.
#ifndef SPECVERIFY_POLICY_DETAIL_PART_KINDS_HPP
#define SPECVERIFY_POLICY_DETAIL_PART_KINDS_HPP

#include <specverify/policy/concepts.hpp>
#include <specverify/policy/observe_skip.hpp>
#include <specverify/sparsify/concepts.hpp>

#include <concepts>
#include <optional>
#include <type_traits>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

enum class part_kind { sparsifier, window, gate };

template <class Part>
inline constexpr bool is_sparsifier = sparsifier<Part>;
template <class Part>
inline constexpr bool is_sparsifier<std::optional<Part>> = sparsifier<Part>;

template <part_kind Kind, class Part>
[[nodiscard]] constexpr bool is_part() noexcept {
  if constexpr (Kind == part_kind::sparsifier) return is_sparsifier<Part>;
  if constexpr (Kind == part_kind::window) return window_policy<Part>;
  return Kind == part_kind::gate && skip_policy<Part>;
}

//! Returns the part of this kind, or `otherwise` if there is none.
template <part_kind Kind, class Otherwise>
[[nodiscard]] constexpr const Otherwise& pick_part(const Otherwise& otherwise) noexcept {
  return otherwise;
}
template <part_kind Kind, class Otherwise, class First, class... Rest>
[[nodiscard]] constexpr const auto& pick_part(const Otherwise& otherwise, const First& first,
                                              const Rest&... rest) noexcept {
  if constexpr (is_part<Kind, First>()) {
    return first;
  } else {
    return pick_part<Kind>(otherwise, rest...);
  }
}

// If a type is not a part, the compiler's first error names the concept and the missing member.

template <class Part>
constexpr void explain_sparsifier() noexcept {
  static_assert(std::copyable<Part>, "sparsifier: it cannot be copied");
  if constexpr (!requires { typename Part::state_type; }) {
    static_assert(sparsifier<Part>, "sparsifier: state_type is missing");
  } else {
    using state = typename Part::state_type;
    static_assert(std::is_trivially_copyable_v<state>, "sparsifier: state_type is not trivially copyable");
    static_assert(
        requires(const Part& part) {
          { part.initial_state() } noexcept -> std::same_as<state>;
        },
        "sparsifier: state_type initial_state() const noexcept");
    static_assert(
        requires(const Part& part, const state& now, std::uint32_t vocab_size) {
          { part.request(now, vocab_size) } noexcept -> std::same_as<read_request>;
        },
        "sparsifier: read_request request(const state_type&, std::uint32_t vocab_size) const noexcept");
    static_assert(
        requires(const Part& part, const state& now, std::uint32_t vocab_size) {
          { part.workspace_size(now, vocab_size) } noexcept -> std::same_as<std::size_t>;
        },
        "sparsifier: std::size_t workspace_size(const state_type&, std::uint32_t vocab_size) const noexcept");
    static_assert(
        requires(const Part& part, const row_summary& row, const state& now, workspace& scratch) {
          { part.select(row, now, scratch) } noexcept -> std::same_as<result<support>>;
        },
        "sparsifier: result<support> select(const row_summary&, const state_type&, workspace&) const noexcept");
    static_assert(
        requires(const Part& part, const state& now, const support& kept) {
          { part.advance(now, kept) } noexcept -> std::same_as<state>;
        },
        "sparsifier: state_type advance(const state_type&, const support&) const noexcept");
  }
}

template <class Part>
constexpr void explain_window() noexcept {
  static_assert(std::copyable<Part>, "window_policy: it cannot be copied");
  static_assert(
      requires(const Part& part, const observation& seen) {
        { part.begin(seen) } noexcept -> std::same_as<draft_plan>;
      },
      "window_policy: draft_plan begin(const observation&) const noexcept");
  static_assert(
      requires(const Part& part, const law& next) {
        { part.proceed(std::uint32_t{}, next, std::uint64_t{}) } noexcept -> std::same_as<bool>;
      },
      "window_policy: bool proceed(std::uint32_t position, const law&, std::uint64_t bits) const noexcept");
}

template <class Part>
constexpr void explain_gate() noexcept {
  static_assert(std::copyable<Part>, "skip_policy: it cannot be copied");
  static_assert(
      requires(const Part& part, const skip_observation& seen) {
        { part.send(seen) } noexcept -> std::same_as<bool>;
      },
      "skip_policy: bool send(const skip_observation&) const noexcept");
  static_assert(
      requires {
        { Part::needs_uncertainty } -> std::convertible_to<bool>;
      },
      "skip_policy: static constexpr bool needs_uncertainty");
  static_assert(
      requires {
        { Part::needs_attention } -> std::convertible_to<bool>;
      },
      "skip_policy: static constexpr bool needs_attention");
  static_assert(
      requires {
        { Part::needs_coin } -> std::convertible_to<bool>;
      },
      "skip_policy: static constexpr bool needs_coin");
  static_assert(
      requires {
        { Part::strength } -> std::convertible_to<guarantee>;
      },
      "skip_policy: static constexpr guarantee strength");
}

//! Checks that a skip policy has the members that compute the data that it needs.
template <skip_policy Part>
constexpr void explain_needs() noexcept {
  static_assert(
      !Part::needs_uncertainty || requires(const Part& part) { perturbation_options{part.perturbation}; },
      "skip_policy: perturbation_options perturbation, because of needs_uncertainty");
  static_assert(
      !Part::needs_attention || requires(const Part& part) { part.importance.eligible({}); },
      "skip_policy: importance, because of needs_attention");
}

//! Explains why a type is not a part. A type that has a member of one of the three concepts is compared with this
//! concept.
template <class Part>
constexpr void explain_part() noexcept {
  if constexpr (skip_policy<Part>) {
    explain_needs<Part>();
  } else if constexpr (is_sparsifier<Part> || window_policy<Part>) {
  } else if constexpr (
      requires { typename Part::state_type; } || requires { &Part::select; } || requires { &Part::advance; } ||
      requires { &Part::request; }) {
    explain_sparsifier<Part>();
  } else if constexpr (
      requires { &Part::begin; } || requires { &Part::proceed; }) {
    explain_window<Part>();
  } else if constexpr (
      requires { &Part::send; } || requires { Part::strength; }) {
    explain_gate<Part>();
  } else {
    static_assert(sparsifier<Part>,
                  "make_edge takes a sparsifier, a window_policy and a skip_policy, or a preset alone");
  }
}

template <class... Parts>
constexpr void explain_parts() noexcept {
  (explain_part<Parts>(), ...);
  static_assert((0 + ... + (is_sparsifier<Parts> ? 1 : 0)) <= 1, "make_edge takes one sparsifier");
  static_assert((0 + ... + (window_policy<Parts> ? 1 : 0)) <= 1, "make_edge takes one window");
  static_assert((0 + ... + (skip_policy<Parts> ? 1 : 0)) <= 1, "make_edge takes one gate");
}

//! Calls the `check` of a part, if it has one.
template <class Part>
[[nodiscard]] constexpr status check_if_any(const Part& part) noexcept {
  if constexpr (requires {
                  { check(part) } -> std::same_as<status>;
                })
    return check(part);
  return {};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
