// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/min_p.hpp>

#include <doctest/doctest.h>

#include "hand_digest.hpp"

#include <bit>

using specverify::errc;
using specverify::min_p;

TEST_CASE("min_p keeps a share of the largest probability") {
  const hand::weights row{400, 100, 39, 40, 0};
  CHECK(select(min_p{0.10}, hand::digest(row, 5)).kept == hand::ids{0, 1, 3});
  CHECK(select(min_p{0.25}, hand::digest(row, 5)).kept == hand::ids{0, 1});
  CHECK(select(min_p{0.26}, hand::digest(row, 5)).kept == hand::ids{0});
  CHECK(select(min_p{1.0}, hand::digest({5, 5, 4}, 3)).kept == hand::ids{0, 1});
  CHECK(select(min_p{0.0}, hand::digest(row, 5)).kept == hand::ids{0, 1, 2, 3});
  CHECK(select(min_p{0.10, 2}, hand::digest(row, 2)).kept == hand::ids{0, 1});
}

TEST_CASE("min_p agrees with the definition or says that the digest is too small") {
  std::mt19937_64 random(33);
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    const hand::weights row = hand::random_row(random, 1 + random() % 100, trial);
    const double ratio = static_cast<double>(random() % 1001) / 1000.0;
    const std::uint32_t largest = *std::max_element(row.begin(), row.end());
    hand::ids expected;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] > 0 && hand::reaches(row[i], ratio, largest, 1))
        expected.push_back(static_cast<specverify::token_id>(i));
    }
    const hand::outcome whole = select(min_p{ratio}, hand::digest(row, row.size(), false));
    REQUIRE(whole.why.ok());
    REQUIRE(whole.kept == expected);
    const hand::outcome part = select(min_p{ratio}, hand::digest(row, 1 + random() % row.size(), false));
    if (part.why.ok()) {
      REQUIRE(part.kept == expected);
    } else {
      REQUIRE(part.why.code == errc::digest_insufficient);
    }
  }
}

TEST_CASE("min_p: what it asks for and how it fails") {
  CHECK(min_p{0.1}.request({}, 100).top_entries == 100);
  CHECK(min_p{0.1, 8}.request({}, 100).top_entries == 8);
  CHECK_FALSE(min_p{0.1}.request({}, 100).integer_total);
  for (const double ratio : {-0.1, 1.1, std::bit_cast<double>(0x7FF8000000000000u)}) {
    CHECK(select(min_p{ratio}, hand::digest({1, 2}, 2)).why.code == errc::invalid_argument);
  }
  CHECK(select(min_p{0.1}, hand::digest({1, 2}, 0)).why.code == errc::digest_insufficient);
}

TEST_CASE("NUM-1 min_p: an option outside its range is named before any row") {
  CHECK(check(min_p{}).ok());
  CHECK(check(min_p{1}).ok());
  CHECK(check(min_p{std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u})}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
  CHECK(check(min_p{-0.1}) == specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
  CHECK(check(min_p{1.1}) == specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
}
