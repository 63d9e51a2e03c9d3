// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/top_k.hpp>

#include <doctest/doctest.h>

#include "hand_digest.hpp"

using specverify::errc;
using specverify::top_k;

TEST_CASE("top_k keeps the largest, by ascending id") {
  const hand::weights row{4, 9, 1, 7, 2};
  const hand::outcome out = select(top_k{3}, hand::digest(row, 5));
  REQUIRE(out.why.ok());
  CHECK(out.kept == hand::ids{0, 1, 3});
  CHECK(out.kept_weights == hand::weights{4, 9, 7});
  CHECK(out.total_weight == 23);
}

TEST_CASE("top_k: ties go to the smaller id") {
  const hand::weights row{5, 8, 5, 5, 8};
  CHECK(select(top_k{1}, hand::digest(row, 5)).kept == hand::ids{1});
  CHECK(select(top_k{3}, hand::digest(row, 5)).kept == hand::ids{0, 1, 4});
  CHECK(select(top_k{4}, hand::digest(row, 5)).kept == hand::ids{0, 1, 2, 4});
}

TEST_CASE("T30 top_k at K = 1, K = V and beyond; tokens without weight stay out") {
  const hand::weights row{0, 3, 0, 9, 0};
  CHECK(select(top_k{1}, hand::digest(row, 5)).kept == hand::ids{3});
  CHECK(select(top_k{5}, hand::digest(row, 5)).kept == hand::ids{1, 3});
  CHECK(select(top_k{0xFFFFFFFFu}, hand::digest(row, 5)).kept == hand::ids{1, 3});
  CHECK(select(top_k{2}, hand::digest({7}, 1)).kept == hand::ids{0});
}

TEST_CASE("top_k fills up to exactly K with the smallest ids") {
  const hand::weights row{0, 3, 0, 9, 0, 0, 2};
  const hand::outcome five = select(top_k{5, false, true}, hand::digest(row, 7));
  REQUIRE(five.why.ok());
  CHECK(five.kept == hand::ids{0, 1, 2, 3, 6});
  CHECK(five.kept_weights == hand::weights{0, 3, 0, 9, 2});
  CHECK(select(top_k{4, false, true}, hand::digest(row, 7)).kept == hand::ids{0, 1, 3, 6});
  CHECK(select(top_k{3, false, true}, hand::digest(row, 7)).kept == hand::ids{1, 3, 6});
  CHECK(select(top_k{2, false, true}, hand::digest(row, 7)).kept == hand::ids{1, 3});
  CHECK(select(top_k{99, false, true}, hand::digest(row, 7)).kept == hand::ids{0, 1, 2, 3, 4, 5, 6});
  CHECK(select(top_k{3, false, true}, hand::digest({0, 0, 0, 5}, 4)).kept == hand::ids{0, 1, 3});
  CHECK(select(top_k{3, false, true}, hand::digest({5, 0, 0, 0}, 4)).kept == hand::ids{0, 1, 2});
}

TEST_CASE("top_k agrees with a full sort, from any digest that gathered enough") {
  std::mt19937_64 random(31);
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    const hand::weights row = hand::random_row(random, 1 + random() % 200, trial);
    const auto support_size = static_cast<std::uint32_t>(1 + random() % 64);
    const std::size_t gathered = 1 + random() % 128;
    const hand::digest digest(row, gathered);
    const hand::outcome out = select(top_k{support_size}, digest);
    if (gathered >= support_size || digest.value.top_complete) {
      REQUIRE(out.why.ok());
      REQUIRE(out.kept == hand::largest(row, support_size));
    } else {
      REQUIRE(out.why == specverify::status{errc::digest_insufficient, specverify::part::sparsify, support_size});
      REQUIRE(out.kept.empty());
    }
  }
}

TEST_CASE("top_k: what it asks for and how it fails") {
  CHECK(top_k{16}.request({}, 1000).top_entries == 16);
  CHECK(top_k{16}.request({}, 10).top_entries == 10);
  CHECK_FALSE(top_k{16}.request({}, 10).integer_total);
  CHECK(top_k{16, true}.request({}, 10).integer_total);
  CHECK(select(top_k{0}, hand::digest({1, 2}, 2)).why.code == errc::invalid_argument);
  CHECK(select(top_k{1}, hand::digest({1, 2}, 0)).why.code == errc::digest_insufficient);

  // Without W the support does not know the row's weight, unless everything was gathered.
  CHECK(select(top_k{1}, hand::digest({1, 2}, 1, false)).total_weight == 0);
  CHECK(select(top_k{1}, hand::digest({1, 2}, 2, false)).total_weight == 3);

  const hand::digest digest({5, 6, 7, 8}, 4);
  std::vector<std::byte> bytes(top_k{2}.workspace_size({}, 4) + 64);
  specverify::workspace enough{std::span(bytes)}, little{std::span(bytes).first(100)};
  CHECK(top_k{2}.select(digest.row(), {}, little).error().code == errc::workspace_too_small);
  CHECK(little.used() == 0);
  const auto out = top_k{2}.select(digest.row(), {}, enough);
  REQUIRE(out.ok());
  CHECK(out->ids.size() == 2);
  CHECK(check(*out).ok());
}

TEST_CASE_TEMPLATE("top_k of a real digest, scalar and vector", Policy, specverify::exec::seq_policy,
                   specverify::exec::simd_policy) {
  std::mt19937_64 random(35);
  for (const std::size_t vocab_size : {1u, 15u, 16u, 1000u, 1025u, 5000u}) {
    std::vector<float> logits(vocab_size);
    for (float& logit : logits) logit = static_cast<float>(random() % 64) / 16.0f;  // few values: many ties
    hand::ids order(vocab_size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
      return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
    });
    for (const std::uint32_t support_size : {1u, 16u, 100u}) {
      const top_k sparsifier{support_size};
      const auto wanted = sparsifier.request({}, static_cast<std::uint32_t>(vocab_size));
      std::vector<std::byte> bytes(
          specverify::digest_workspace_size(static_cast<std::uint32_t>(vocab_size), {}, wanted));
      std::vector<std::byte> more(sparsifier.workspace_size({}, static_cast<std::uint32_t>(vocab_size)));
      specverify::workspace space{std::span(bytes)}, scratch{std::span(more)};
      const auto reading =
          specverify::read_row(Policy{}, specverify::logits_row(std::span<const float>(logits)), {}, wanted, space);
      REQUIRE(reading.ok());
      const auto selected = sparsifier.select(*reading, {}, scratch);
      REQUIRE(selected.ok());
      const specverify::support& kept = *selected;
      CHECK(check(kept).ok());
      hand::ids expected(order.begin(),
                         order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(support_size, vocab_size)));
      std::sort(expected.begin(), expected.end());
      CHECK(hand::ids(kept.ids.begin(), kept.ids.end()) == expected);
    }
  }
}

TEST_CASE("NUM-1 top_k: an option outside its range is named before any row") {
  CHECK(check(top_k{}).ok());
  CHECK(check(top_k{1}).ok());
  CHECK(check(top_k{0}) == specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
}
