// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/threshold.hpp>

#include <doctest/doctest.h>

#include "hand_digest.hpp"

#include <bit>
#include <cmath>

using specverify::errc;
using specverify::threshold;

namespace {
constexpr std::uint32_t all = specverify::max_vocab_size;  // as a cap: none
}

TEST_CASE("threshold keeps q >= beta") {
  const hand::weights row = hand::in_units({40, 10, 25, 5, 20});  // sum 100
  CHECK(select(threshold{0.20, all}, hand::digest(row, 5)).kept == hand::ids{0, 2, 4});
  CHECK(select(threshold{0.21, all}, hand::digest(row, 5)).kept == hand::ids{0, 2});
  CHECK(select(threshold{0.05, all}, hand::digest(row, 5)).kept == hand::ids{0, 1, 2, 3, 4});
  CHECK(select(threshold{0.20, all}, hand::digest(row, 5)).kept_weights == hand::in_units({40, 25, 20}));
}

TEST_CASE("threshold: above the largest probability the largest token stays, at or below 0 all stay") {
  const hand::weights row = hand::in_units({40, 10, 40, 0, 10});
  for (const double beta : {0.41, 1.0, 1.5, 2.0, 1e300})
    CHECK(select(threshold{beta, all}, hand::digest(row, 5)).kept == hand::ids{0});
  for (const double beta : {0.0, -1.0, -1e300, 1e-300})
    CHECK(select(threshold{beta, all}, hand::digest(row, 5)).kept == hand::ids{0, 1, 2, 4});
}

TEST_CASE("threshold: the cap keeps the largest") {
  const hand::weights row = hand::in_units({40, 10, 25, 5, 20});
  CHECK(select(threshold{0.05, 2}, hand::digest(row, 2)).kept == hand::ids{0, 2});
  CHECK(select(threshold{0.00, 3}, hand::digest(row, 3)).kept == hand::ids{0, 2, 4});
  CHECK(select(threshold{0.30, 3}, hand::digest(row, 3)).kept == hand::ids{0});
}

TEST_CASE("threshold: dropped mass is one minus the retained mass") {
  const hand::weights row = hand::in_units({40, 10, 25, 5, 20});
  const hand::digest digest(row, 5);
  std::vector<std::byte> bytes(4096);
  specverify::workspace scratch{std::span(bytes)};
  const auto selected = threshold{0.2, all}.select(digest.row(), {}, scratch);
  REQUIRE(selected.ok());
  const specverify::support& kept = *selected;
  CHECK(retained_mass(kept) == doctest::Approx(0.85));
}

TEST_CASE("threshold agrees with the definition or says that the digest is too small") {
  std::mt19937_64 random(32);
  for (std::uint32_t trial = 0; trial < 3000; ++trial) {
    const hand::weights row = hand::random_row(random, 1 + random() % 100, trial);
    const std::uint64_t total = hand::total(row);
    const double beta = static_cast<double>(random() % 1000 + 1) / (1000.0 * static_cast<double>(1 + random() % 50));
    hand::ids expected;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] > 0 && hand::reaches(row[i], beta, total, std::floor(beta * static_cast<double>(row.size())) + 2))
        expected.push_back(static_cast<specverify::token_id>(i));
    }
    const hand::ids above = expected;
    if (expected.empty()) expected = hand::largest(row, 1);
    const hand::outcome whole = select(threshold{beta, all}, hand::digest(row, row.size()));
    REQUIRE(whole.why.ok());
    REQUIRE(whole.kept == expected);
    const hand::outcome part = select(threshold{beta, all}, hand::digest(row, 1 + random() % row.size()));
    if (part.why.ok()) {
      REQUIRE(part.kept == expected);
    } else {
      REQUIRE(part.why.code == errc::digest_insufficient);
    }
    // A digest that promises every id from beta on serves, even when all its top entries are above.
    hand::digest promised(row, std::max<std::size_t>(1, above.size()));
    promised.value.minimum_probability = beta;
    REQUIRE(select(threshold{beta, all}, promised).kept == expected);
  }
}

TEST_CASE("threshold: what it asks for and how it fails") {
  CHECK(threshold{0.25, all}.request({}, 100).minimum_probability == 0.25);
  CHECK_FALSE(threshold{0.25, all}.request({}, 100).integer_total);
  CHECK(threshold{0.25, all, true}.request({}, 100).integer_total);
  CHECK(threshold{0.25, all}.request({}, 100).top_entries == 1);
  CHECK(threshold{5.0, all}.request({}, 100).minimum_probability == 1);
  CHECK(threshold{0.0, all}.request({}, 100).top_entries == 100);
  CHECK(threshold{-1.0, all}.request({}, 100).minimum_probability == 0);
  CHECK(threshold{0.25, 7}.request({}, 100).top_entries == 7);
  // V, or more than that, keeps all: only tokens of probability beta are gathered
  CHECK(threshold{0.25, 100}.request({}, 100).top_entries == 1);
  CHECK(threshold{0.25, 700}.request({}, 100).minimum_probability == 0.25);
  CHECK(threshold{0.25, 99}.request({}, 100).top_entries == 99);
  CHECK(select(threshold{std::bit_cast<double>(0x7FF8000000000000u), all}, hand::digest({1, 2}, 2)).why.code ==
        errc::invalid_argument);
  CHECK(select(threshold{0.25, all}, hand::digest({1, 2}, 1, false)).why.code == errc::digest_insufficient);  // no W
  CHECK(select(threshold{0.25, all}, hand::digest({1, 2}, 0)).why.code == errc::digest_insufficient);
}

TEST_CASE_TEMPLATE("threshold of a real digest, scalar and vector", Policy, specverify::exec::seq_policy,
                   specverify::exec::simd_policy) {
  std::mt19937_64 random(36);
  const std::uint32_t vocab_size = 3000;
  std::vector<double> law(vocab_size);
  double sum = 0;
  for (double& mass : law) sum += mass = 1.0 / static_cast<double>(1 + random() % 5000);
  for (double& mass : law) mass /= sum;
  for (const double beta : {1e-4, 1e-3, 0.01, 0.5, 1.0}) {
    const threshold sparsifier{beta, vocab_size};
    const auto wanted = sparsifier.request({}, vocab_size);
    std::vector<std::byte> bytes(specverify::digest_workspace_size(vocab_size, {}, wanted)),
        more(sparsifier.workspace_size({}, vocab_size));
    specverify::workspace space{std::span(bytes)}, scratch{std::span(more)};
    const auto reading =
        specverify::read_row(Policy{}, specverify::probability_row(std::span<const double>(law)), {}, wanted, space);
    REQUIRE(reading.ok());
    const auto selected = sparsifier.select(*reading, {}, scratch);
    REQUIRE(selected.ok());
    const specverify::support& kept = *selected;
    CHECK(check(kept).ok());
    std::size_t clear = 0;  // integer weights have 31 bits: ids this close to beta may fall to either side
    for (std::uint32_t id = 0; id < vocab_size; ++id) {
      const bool listed = std::binary_search(kept.ids.begin(), kept.ids.end(), static_cast<specverify::token_id>(id));
      if (law[id] > beta * (1 + 1e-6)) CHECK(listed);
      if (law[id] < beta * (1 - 1e-6) && kept.size() > 1) CHECK_FALSE(listed);
      clear += listed ? 1u : 0u;
    }
    CHECK(clear == kept.size());
  }
}

TEST_CASE_TEMPLATE("threshold above every probability of a wide flat row keeps the first token", Policy,
                   specverify::exec::seq_policy, specverify::exec::simd_policy) {
  // W = 2^44 here: beta W has more than 32 bits.
  const std::vector<float> logits(8192, 1.0f);
  for (const double beta : {2.0, 0.5, 0.01}) {
    const threshold sparsifier{beta, 8192};
    const auto wanted = sparsifier.request({}, 8192);
    std::vector<std::byte> bytes(specverify::digest_workspace_size(8192, {}, wanted)),
        more(sparsifier.workspace_size({}, 8192));
    specverify::workspace space{std::span(bytes)}, scratch{std::span(more)};
    const auto reading =
        specverify::read_row(Policy{}, specverify::logits_row(std::span<const float>(logits)), {}, wanted, space);
    REQUIRE(reading.ok());
    const auto selected = sparsifier.select(*reading, {}, scratch);
    REQUIRE(selected.ok());
    const specverify::support& kept = *selected;
    REQUIRE(kept.size() == 1);
    CHECK(kept.ids[0] == 0);
  }
}

TEST_CASE("NUM-1 threshold: an option outside its range is named before any row") {
  CHECK(check(threshold{.max_support_size = 1}).ok());
  CHECK(check(threshold{-1, all}).ok());
  CHECK(check(threshold{std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u}), all}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
}

TEST_CASE("threshold: the cap must be given, and V keeps all") {
  const specverify::status no_cap{errc::invalid_argument, specverify::part::sparsify, 1};
  CHECK(check(threshold{}) == no_cap);
  CHECK(select(threshold{0.25}, hand::digest({1, 2}, 2)).why == no_cap);
  CHECK(select(threshold{-1, 2}, hand::digest({1, 2}, 2)).kept == hand::ids{0, 1});
  CHECK(select(threshold{-1, 1}, hand::digest({1, 2}, 2)).kept == hand::ids{1});
}
