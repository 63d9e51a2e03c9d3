// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/top_p.hpp>

#include <doctest/doctest.h>

#include "hand_digest.hpp"

#include <bit>

using specverify::errc;
using specverify::top_p;

TEST_CASE("top_p keeps the smallest prefix that holds the mass") {
  const hand::weights row = hand::in_units({40, 10, 25, 5, 20});
  CHECK(select(top_p{0.40}, hand::digest(row, 5)).kept == hand::ids{0});
  CHECK(select(top_p{0.41}, hand::digest(row, 5)).kept == hand::ids{0, 2});
  CHECK(select(top_p{0.65}, hand::digest(row, 5)).kept == hand::ids{0, 2});
  CHECK(select(top_p{0.66}, hand::digest(row, 5)).kept == hand::ids{0, 2, 4});
  CHECK(select(top_p{1.00}, hand::digest(row, 5)).kept == hand::ids{0, 1, 2, 3, 4});
  CHECK(select(top_p{1e-9}, hand::digest(row, 5)).kept == hand::ids{0});
}

TEST_CASE("NUM-8 top_p: ties go to the smaller id, and no more of them stay than the mass needs") {
  const hand::weights row = hand::in_units({10, 10, 10, 10, 10, 50});
  CHECK(select(top_p{0.70}, hand::digest(row, 6)).kept == hand::ids{0, 1, 5});
  CHECK(select(top_p{0.50}, hand::digest(hand::in_units(hand::weights(10, 7)), 10)).kept == hand::ids{0, 1, 2, 3, 4});
}

TEST_CASE("top_p agrees with a full sort, with and without a cap") {
  std::mt19937_64 random(34);
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    const hand::weights row = hand::random_row(random, 1 + random() % 100, trial);
    const double mass = static_cast<double>(random() % 1000 + 1) / 1000.0;
    const auto cap = static_cast<std::uint32_t>(random() % 20);
    const hand::ids order = hand::ranked(row);
    std::uint64_t held = 0;
    std::size_t size = 0;
    const auto roundings = static_cast<double>(row.size());
    while (size < order.size() && (size == 0 || !hand::reaches(held, mass, hand::total(row), roundings))) {
      held += row[static_cast<std::size_t>(order[size++])];
    }
    if (cap > 0 && size > cap) size = cap;
    const hand::ids expected = hand::largest(row, size);
    const hand::outcome whole = select(top_p{mass, cap}, hand::digest(row, row.size()));
    REQUIRE(whole.why.ok());
    REQUIRE(whole.kept == expected);
    if (cap > 0) REQUIRE(select(top_p{mass, cap}, hand::digest(row, cap)).kept == expected);
    const hand::outcome part = select(top_p{mass, cap}, hand::digest(row, 1 + random() % row.size()));
    if (part.why.ok()) {
      REQUIRE(part.kept == expected);
    } else {
      REQUIRE(part.why.code == errc::digest_insufficient);
    }
  }
}

TEST_CASE("top_p: what it asks for and how it fails") {
  CHECK(top_p{0.9}.request({}, 100).top_entries == 100);
  CHECK(top_p{0.9, 8}.request({}, 100).top_entries == 8);
  CHECK_FALSE(top_p{0.9}.request({}, 100).integer_total);
  CHECK(top_p{0.9, 0, true}.request({}, 100).integer_total);
  for (const double mass : {0.0, -0.1, 1.1, std::bit_cast<double>(0x7FF8000000000000u)}) {
    CHECK(select(top_p{mass}, hand::digest({1, 2}, 2)).why.code == errc::invalid_argument);
  }
  CHECK(select(top_p{0.1}, hand::digest({1, 2}, 0)).why.code == errc::digest_insufficient);
  CHECK(select(top_p{0.1}, hand::digest({1, 2}, 1, false)).why.code == errc::digest_insufficient);
}

TEST_CASE("NUM-1 top_p: an option outside its range is named before any row") {
  CHECK(check(top_p{}).ok());
  CHECK(check(top_p{1}).ok());
  CHECK(check(top_p{std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u})}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
  CHECK(check(top_p{0}) == specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
  CHECK(check(top_p{1.1}) == specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
}
