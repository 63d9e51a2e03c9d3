// SPDX-License-Identifier: Apache-2.0
#include <specverify/distribution/draft_block.hpp>
#include <specverify/distribution/make_law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <utility>

using specverify::draft;
using specverify::draft_block;
using specverify::errc;
using specverify::make_law;
using specverify::purpose;
using specverify::token_id;
using specverify::uniforms;

namespace {

draft drawn_from(std::array<token_id, 3>& ids, std::array<std::uint32_t, 3>& counts) {
  const auto from = make_law(ids, counts, 100);
  REQUIRE(from.ok());
  return draw(*from, uniforms{specverify::philox{}, 0, 0}.at(purpose::draft_draw));
}

}  // namespace

TEST_CASE("a draft block holds copies of the laws") {
  auto made = draft_block::make({4, 12});
  REQUIRE(made.ok());
  draft_block& block = made.value();
  CHECK(block.empty());
  CHECK(block.capacity() == 4);
  std::array<token_id, 3> ids{1, 5, 9};
  std::array<std::uint32_t, 3> counts{1, 0, 2};
  const draft first = drawn_from(ids, counts);
  REQUIRE(block.push(first).ok());
  ids = {2, 3, 4};  // the engine writes its next law into the same arrays
  counts = {7, 7, 7};
  REQUIRE(block.push(drawn_from(ids, counts)).ok());
  REQUIRE(block.size() == 2);
  CHECK(block[0].token() == first.token());
  CHECK(block[0].source_law().count(1) == 1);
  CHECK(block[0].source_law().count(9) == 2);
  CHECK(block[1].source_law().count(3) == 7);
  CHECK(check(block[0].source_law()).ok());
  CHECK(check(block[1].source_law()).ok());
  CHECK(block.drafts().size() == 2);
}

TEST_CASE("truncate and clear give the arena back") {
  auto made = draft_block::make({3, 9});
  REQUIRE(made.ok());
  draft_block& block = made.value();
  std::array<token_id, 3> ids{1, 5, 9};
  std::array<std::uint32_t, 3> counts{1, 1, 2};
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      counts[0] = i + 1;
      REQUIRE(block.push(drawn_from(ids, counts)).ok());
    }
    block.truncate(5);
    CHECK(block.size() == 3);
    block.truncate(1);
    REQUIRE(block.size() == 1);
    counts[0] = 50;
    REQUIRE(block.push(drawn_from(ids, counts)).ok());
    CHECK(block[0].source_law().count(1) == 1);
    CHECK(block[1].source_law().count(1) == 50);
    block.truncate(0);
    CHECK(block.empty());
    REQUIRE(block.push(drawn_from(ids, counts)).ok());
    block.clear();
  }
}

TEST_CASE("a full block refuses and stays as it was") {
  std::array<token_id, 3> ids{1, 5, 9};
  std::array<std::uint32_t, 3> counts{1, 1, 2};
  auto few_drafts = draft_block::make({1, 100});
  REQUIRE(few_drafts.ok());
  REQUIRE(few_drafts.value().push(drawn_from(ids, counts)).ok());
  CHECK(few_drafts.value().push(drawn_from(ids, counts)).code == errc::draft_too_long);
  CHECK(few_drafts.value().size() == 1);
  auto few_entries = draft_block::make({9, 5});
  REQUIRE(few_entries.ok());
  REQUIRE(few_entries.value().push(drawn_from(ids, counts)).ok());
  CHECK(few_entries.value().push(drawn_from(ids, counts)).code == errc::support_too_large);
  CHECK(few_entries.value().size() == 1);
  CHECK(draft_block::make({0, 5}).error().code == errc::invalid_argument);
  CHECK(draft_block::make({5, 0}).error().code == errc::invalid_argument);
}

TEST_CASE("a moved block keeps its laws where they are") {
  auto made = draft_block::make({2, 6});
  REQUIRE(made.ok());
  std::array<token_id, 3> ids{1, 5, 9};
  std::array<std::uint32_t, 3> counts{1, 1, 2};
  REQUIRE(made.value().push(drawn_from(ids, counts)).ok());
  const draft_block moved = std::move(made).value();
  REQUIRE(moved.size() == 1);
  CHECK(moved[0].source_law().count(9) == 2);
  static_assert(!std::is_copy_constructible_v<draft_block>);
}
