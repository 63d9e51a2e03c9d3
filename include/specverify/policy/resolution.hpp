// SPDX-License-Identifier: Apache-2.0
//! Lists the actions of an adaptive window. An action is a number of drafts and a resolution.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605): an action is (L, b), with b bits per distribution. The
//!             authors' code chooses L from {12, 10, 9, ..., 1} and the resolution l from {720, 240}.
//! Guarantees: pure, no allocation.
//! Cost:       O(actions).
//! See:        docs/algorithms/resolution.md, tests/unit/policy/resolution_test.cpp
#ifndef SPECVERIFY_POLICY_RESOLUTION_HPP
#define SPECVERIFY_POLICY_RESOLUTION_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/core/status.hpp>
#include <specverify/quantize/concepts.hpp>

#include <array>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

struct window_action {
  std::uint32_t draft_length = 1;  //!< L >= 1
  std::uint32_t resolution = 100;  //!< l, in [1, 2^16]
  friend SPECVERIFY_INLINE constexpr bool operator==(const window_action&, const window_action&) noexcept = default;
};

inline constexpr std::uint32_t max_window_actions = 32;
inline constexpr std::array<std::uint32_t, 11> paper_draft_lengths{12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};

//! Actions that a policy can choose from.
struct action_grid {
  std::array<window_action, max_window_actions> actions{};
  std::uint32_t size = 0;

  [[nodiscard]] SPECVERIFY_INLINE constexpr std::span<const window_action> all() const& noexcept {
    return {actions.data(), size};
  }
  void all() const&& = delete;  // the span would outlive the actions
  [[nodiscard]] SPECVERIFY_INLINE constexpr const window_action& operator[](std::uint32_t index) const noexcept {
    return actions[index];
  }
};

//! Range of L and range of l over the actions of a grid.
struct action_range {
  window_action least{};
  window_action most{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks a grid. Errors: invalid_argument (no actions, or more than max_window_actions: `where` = number; L = 0:
//! `where` = action), invalid_resolution (l = 0 or above 2^16: `where` = action).
[[nodiscard]] constexpr status check(const action_grid& grid) noexcept {
  if (grid.size == 0 || grid.size > max_window_actions) return {errc::invalid_argument, part::policy, grid.size};
  for (std::uint32_t i = 0; i < grid.size; ++i) {
    if (grid[i].draft_length == 0) return {errc::invalid_argument, part::policy, i};
    if (grid[i].resolution == 0 || grid[i].resolution > max_lattice_resolution)
      return {errc::invalid_resolution, part::policy, i};
  }
  return {};
}

//! Returns all combinations of length and resolution; the actions of one length are neighbours. Actions after the
//! first `max_window_actions` are dropped. Errors: as for `check`.
[[nodiscard]] constexpr result<action_grid> make_action_grid(std::span<const std::uint32_t> lengths,
                                                             std::span<const std::uint32_t> resolutions) noexcept {
  action_grid grid;
  for (const std::uint32_t length : lengths) {
    for (const std::uint32_t resolution : resolutions) {
      if (grid.size < max_window_actions) grid.actions[grid.size++] = {length, resolution};
    }
  }
  if (const status why = check(grid); !why.ok()) return why;
  return grid;
}

//! Returns the 22 actions of the authors' code.
[[nodiscard]] constexpr action_grid paper_action_grid() noexcept {
  constexpr std::array<std::uint32_t, 2> resolutions{720, 240};
  return make_action_grid(paper_draft_lengths, resolutions).value();
}

//! Returns a grid of the authors' draft lengths with two resolutions: the largest whose distributions cost at most
//! `fine_bits` and `coarse_bits`. A resolution is at least 1, even if it costs more, and at most 2^16.
[[nodiscard]] inline action_grid bit_action_grid(std::uint64_t fine_bits, std::uint64_t coarse_bits,
                                                 std::uint32_t vocab_size) noexcept {
  const auto of_bits = [vocab_size](std::uint64_t bits) {
    const std::uint32_t resolution = resolution_for_bits(bits, vocab_size);
    return resolution == 0 ? 1u : resolution < max_lattice_resolution ? resolution : max_lattice_resolution;
  };
  const std::array<std::uint32_t, 2> resolutions{of_bits(fine_bits), of_bits(coarse_bits)};
  return make_action_grid(paper_draft_lengths, resolutions).value();
}

//! Returns the minimum and maximum L and l of a grid, which must pass `check`.
[[nodiscard]] constexpr action_range range_of(const action_grid& grid) noexcept {
  action_range made{grid[0], grid[0]};
  for (const window_action& action : grid.all()) {
    if (action.draft_length < made.least.draft_length) made.least.draft_length = action.draft_length;
    if (action.draft_length > made.most.draft_length) made.most.draft_length = action.draft_length;
    if (action.resolution < made.least.resolution) made.least.resolution = action.resolution;
    if (action.resolution > made.most.resolution) made.most.resolution = action.resolution;
  }
  return made;
}

//! Returns the number of bits that announce the action of a round to the other side.
[[nodiscard]] constexpr std::uint32_t action_bits(const action_grid& grid) noexcept { return ceil_log2(grid.size); }

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
