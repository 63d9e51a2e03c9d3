// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/resolution.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <utility>

using namespace specverify;

TEST_CASE("T12 resolution: the largest l that a number of bits pays for") {
  const std::pair<std::uint32_t, std::uint64_t> anchors[] = {{4, 58},     {12, 159},   {16, 206},   {24, 296},
                                                             {100, 1038}, {240, 2193}, {720, 5451}, {1280, 8642}};
  for (const std::pair<std::uint32_t, std::uint64_t>& row : anchors) {
    const std::uint32_t resolution = row.first;
    const std::uint64_t bits = row.second;
    CAPTURE(resolution);
    CHECK(dense_law_bits(50272, resolution) == bits);
    CHECK(resolution_for_bits(bits, 50272) == resolution);
    CHECK(resolution_for_bits(bits - 1, 50272) == resolution - 1);
  }
  CHECK(resolution_for_bits(15, 50272) == 0);
}

TEST_CASE("E4 resolution: the grid of the paper's code is 22 actions, L-major, 5 bits") {
  constexpr action_grid grid = paper_action_grid();
  static_assert(grid.size == 22);
  CHECK(grid[0] == window_action{12, 720});
  CHECK(grid[1] == window_action{12, 240});
  CHECK(grid[2] == window_action{10, 720});  // there is no 11
  CHECK(grid[21] == window_action{1, 240});
  CHECK(action_bits(grid) == 5);
  CHECK(grid.all().size() == 22);
}

TEST_CASE("resolution: a grid by bits holds the same resolutions") {
  const action_grid grid = bit_action_grid(5451, 2193, 50272);
  const action_grid paper = paper_action_grid();
  REQUIRE(grid.size == paper.size);
  for (std::uint32_t i = 0; i < grid.size; ++i) CHECK(grid[i] == paper[i]);
  CHECK(bit_action_grid(100, 3, 50272)[1].resolution == 1);
  // a small vocabulary: more counts than a lattice takes
  CHECK(resolution_for_bits(5451, 512) > max_lattice_resolution);
  CHECK(bit_action_grid(5451, 2193, 512)[0].resolution == max_lattice_resolution);
  constexpr std::array<std::uint32_t, 11> many{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CHECK(make_action_grid(paper_draft_lengths, many).value().size == max_window_actions);
}

TEST_CASE("resolution: an action without a draft or without a count is refused, and so is no action") {
  const auto error = [](std::initializer_list<std::uint32_t> lengths,
                        std::initializer_list<std::uint32_t> resolutions) {
    const auto span = [](std::initializer_list<std::uint32_t> list) { return std::span(list.begin(), list.size()); };
    return make_action_grid(span(lengths), span(resolutions)).error();
  };
  CHECK(error({1, 2}, {1, max_lattice_resolution}).ok());
  CHECK(error({4, 0}, {720, 240}) == status{errc::invalid_argument, part::policy, 2});
  CHECK(error({4, 1}, {720, 0}) == status{errc::invalid_resolution, part::policy, 1});
  CHECK(error({4}, {max_lattice_resolution + 1}) == status{errc::invalid_resolution, part::policy, 0});
  CHECK(error({}, {720}) == status{errc::invalid_argument, part::policy, 0});
  CHECK(error({4}, {}) == status{errc::invalid_argument, part::policy, 0});
  action_grid by_hand = paper_action_grid();
  CHECK(check(by_hand).ok());
  by_hand.size = max_window_actions + 1;
  CHECK(check(by_hand) == status{errc::invalid_argument, part::policy, max_window_actions + 1});
}
