// SPDX-License-Identifier: Apache-2.0
#include <specverify/quantize/drop_zero.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using specverify::drop_zero;
using specverify::errc;
using specverify::law;
using specverify::token_id;
using specverify::workspace;

TEST_CASE("drop_zero keeps the positive counts in order") {
  const std::array<token_id, 5> ids{2, 3, 5, 8, 13};
  const std::array<std::uint32_t, 5> counts{0, 4, 0, 1, 0};
  std::array<token_id, 2> kept_ids{};
  std::array<std::uint32_t, 2> kept_counts{};
  const auto kept = drop_zero(ids, counts, kept_ids, kept_counts);
  REQUIRE(kept.ok());
  CHECK(*kept == 2);
  CHECK(kept_ids == std::array<token_id, 2>{3, 8});
  CHECK(kept_counts == std::array<std::uint32_t, 2>{4, 1});
}

TEST_CASE("drop_zero works in place") {
  std::array<token_id, 4> ids{1, 2, 3, 4};
  std::array<std::uint32_t, 4> counts{0, 7, 0, 9};
  const auto kept = drop_zero(ids, counts, ids, counts);
  REQUIRE(kept.ok());
  CHECK(*kept == 2);
  CHECK(ids[0] == 2);
  CHECK(ids[1] == 4);
  CHECK(counts[0] == 7);
  CHECK(counts[1] == 9);
}

TEST_CASE("drop_zero of a law is the same law") {
  const std::array<token_id, 5> ids{2, 3, 5, 8, 13};
  const std::array<std::uint32_t, 5> counts{0, 4, 0, 1, 0};
  const law from{ids.data(), counts.data(), 5, 0, 5, 20};
  std::array<std::byte, 2 * specverify::drop_zero_workspace_size(5)> bytes{};
  workspace space{bytes};
  const auto out = drop_zero(from, space);
  REQUIRE(out.ok());
  CHECK(check(*out).ok());
  CHECK(out->size == 2);
  for (token_id id = -1; id <= 20; ++id) CHECK(out->count(id) == from.count(id));
  const auto again = drop_zero(*out, space);
  REQUIRE(again.ok());
  CHECK(again->size == 2);
  CHECK(check(*again).ok());
}

TEST_CASE("drop_zero refuses bad input and writes nothing") {
  const std::array<token_id, 3> ids{2, 3, 5};
  const std::array<std::uint32_t, 3> counts{1, 4, 0};
  const std::array<std::uint32_t, 3> zeros{};
  std::vector<token_id> kept_ids(1, 42);
  std::vector<std::uint32_t> kept_counts(1, 42);
  CHECK(drop_zero(ids, counts, kept_ids, kept_counts).error() ==
        specverify::status{errc::output_too_small, specverify::part::quantize, 2});
  CHECK(drop_zero(ids, std::span(counts).first(2), kept_ids, kept_counts).error().code == errc::size_mismatch);
  CHECK_FALSE(drop_zero(ids, counts, kept_ids, kept_counts).ok());
  CHECK(kept_ids[0] == 42);
  CHECK(kept_counts[0] == 42);

  std::array<std::byte, 2 * specverify::workspace_alignment> bytes{};
  workspace small{std::span(bytes).first(100)};
  CHECK(drop_zero(law{ids.data(), counts.data(), 3, 0, 5, 9}, small).error().code == errc::workspace_too_small);
  CHECK(small.used() == 0);
  CHECK(drop_zero(law{ids.data(), counts.data(), 3, 2, 17, 9}, small).error().code == errc::unsupported);
  CHECK(drop_zero(law{ids.data(), zeros.data(), 3, 0, 0, 9}, small).error().code == errc::empty_support);
  CHECK(small.used() == 0);
}
