// SPDX-License-Identifier: Apache-2.0
#include <specverify/distribution/make_law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using specverify::errc;
using specverify::law;
using specverify::make_law;
using specverify::one_hot_law;
using specverify::support;
using specverify::token_id;
using specverify::workspace;

namespace {
const std::array<token_id, 3> ids{1, 4, 6};
const std::array<std::uint32_t, 3> counts{2, 0, 5};
}  // namespace

TEST_CASE("make_law sums the counts and views the arrays") {
  const auto made = make_law(ids, counts, 7);
  REQUIRE(made.ok());
  const law& out = *made;
  CHECK(out.ids == ids.data());
  CHECK(out.counts == counts.data());
  CHECK(out.size == 3);
  CHECK(out.resolution == 7);
  CHECK(out.tail_count == 0);
  CHECK(out.vocab_size == 7);
  const auto with_tail = make_law(ids, counts, 10, 3);
  REQUIRE(with_tail.ok());
  CHECK(with_tail->resolution == 7 + 3 * 7);
  CHECK(with_tail->count(0) == 3);
  CHECK(with_tail->count(4) == 0);
}

TEST_CASE("make_law of a support takes its ids and the first counts") {
  const std::array<std::uint32_t, 3> weights{9, 9, 9};
  const std::array<std::uint32_t, 5> longer{1, 2, 3, 100, 100};
  const support kept{ids, weights, 30, 8};
  const auto made = make_law(kept, longer);
  REQUIRE(made.ok());
  CHECK(made->resolution == 6);
  CHECK(made->vocab_size == 8);
  CHECK(make_law(kept, std::span(longer).first(2)).error().code == errc::output_too_small);
}

TEST_CASE("make_law refuses what is no law") {
  const std::array<token_id, 3> unordered{1, 6, 4};
  const std::array<std::uint32_t, 3> zeros{};
  const std::array<std::uint32_t, 3> huge{0xFFFFFFFFu, 1, 0};
  CHECK(make_law(ids, std::span(counts).first(2), 7).error().code == errc::size_mismatch);
  CHECK(make_law(ids, counts, 6).error().code == errc::token_out_of_range);
  CHECK(make_law(ids, counts, 2).error().code == errc::token_out_of_range);
  CHECK(make_law(unordered, counts, 7).error().code == errc::ids_not_ascending);
  CHECK(make_law(ids, zeros, 7).error().code == errc::invalid_resolution);
  CHECK(make_law(ids, huge, 7).error().code == errc::invalid_resolution);
  CHECK(make_law(ids, counts, (1u << 24) + 1).error().code == errc::vocabulary_too_large);
  CHECK_FALSE(make_law(ids, zeros, 7).ok());
}

TEST_CASE("one_hot_law is the point mass") {
  std::array<std::byte, specverify::one_hot_law_workspace_size()> bytes{};
  workspace space{bytes};
  const auto made = one_hot_law(5, 9, space);
  REQUIRE(made.ok());
  const law& out = *made;
  CHECK(check(out).ok());
  for (token_id id = 0; id < 9; ++id) CHECK(out.count(id) == (id == 5 ? 1 : 0));
  CHECK(out.resolution == 1);
  CHECK(one_hot_law(9, 9, space).error().code == errc::token_out_of_range);
  CHECK(one_hot_law(-1, 9, space).error().code == errc::token_out_of_range);
  CHECK(one_hot_law(1, (1u << 24) + 1, space).error().code == errc::vocabulary_too_large);
  space.rewind(0);
  workspace small{std::span(bytes).first(80)};
  CHECK(one_hot_law(1, 9, small).error().code == errc::workspace_too_small);
  CHECK(small.used() == 0);
  CHECK(out.ids[0] == 5);
}
