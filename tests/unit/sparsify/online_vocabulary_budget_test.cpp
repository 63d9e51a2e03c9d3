// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/online_vocabulary_budget.hpp>

#include <doctest/doctest.h>

#include "tail_by_hand.hpp"

#include <bit>

using hand::distance, hand::law_of, hand::numbers, hand::profiled, hand::random_law, hand::reconstruction,
    hand::residual;
using specverify::drawn_token;
using specverify::errc;
using specverify::online_vocabulary_budget;

namespace {

hand::outcome select_with_token(const online_vocabulary_budget& sparsifier, const hand::digest& of,
                                const drawn_token& drawn) {
  std::vector<std::byte> bytes(sparsifier.workspace_size({}, of.value.valid_size));
  specverify::workspace scratch{std::span(bytes)};
  return hand::outcome_of(sparsifier.select_with_token(of.row(), drawn, scratch));
}

}  // namespace

TEST_CASE(
    "E18 the online denominator is no bound: TV(p, q) above N(k) over it occurs, and less often for a sharper "
    "softplus") {
  std::mt19937_64 random(18);
  std::vector<int> above(2, 0);
  for (int trial = 0; trial < 4000; ++trial) {
    const std::size_t size = 64;
    const hand::weights row = random_law(random, size, 14);
    hand::weights target = row;  // a target near the drafter: TV(x, y) is small, the denominator is not
    for (std::uint32_t& weight : target)
      weight = static_cast<std::uint32_t>(weight * (0.85 + static_cast<double>(random() % 100) / 800.0));
    const numbers x = law_of(row), y = law_of(target);
    const std::size_t k = 1 + random() % 16, d = random() % size;
    const double allowed = profiled(row).profile.distortion(static_cast<std::uint32_t>(k));
    const auto rejected = static_cast<double>(std::max(0.0L, 1 - y[d] / x[d]));
    const long double apart = distance(residual(y, x), residual(y, reconstruction(x, k)));
    for (std::size_t i = 0; i < 2; ++i) {
      const double denominator = specverify::online_budget(static_cast<double>(x[d]), rejected,
                                                           {.distortion = 1, .sharpness = i == 0 ? 1.0 : 20.0});
      above[i] += static_cast<double>(apart) * denominator > allowed ? 1 : 0;
    }
  }
  CHECK(above[0] > 0);
  CHECK(above[1] < above[0]);
}

TEST_CASE("E19 softplus stands above max(0, z) by at most ln 2 / eta, at z = 0") {
  for (const double eta : {0.5, 1.0, 2.0, 10.0, 100.0}) {
    CHECK(specverify::softplus(0, eta) == doctest::Approx(std::log(2.0) / eta).epsilon(1e-15));
    for (double z = -20; z <= 20; z += 0.01) {
      const double excess = specverify::softplus(z, eta) - std::max(0.0, z);
      REQUIRE(excess >= -1e-14);
      REQUIRE(excess <= std::log(2.0) / eta + 1e-14);
      if (eta * z < 600)
        REQUIRE(specverify::softplus(z, eta) == doctest::Approx(std::log(1 + std::exp(eta * z)) / eta).epsilon(1e-9));
    }
  }
}

TEST_CASE("online_vocabulary_budget: the size grows with the probability of a rejection") {
  std::mt19937_64 random(47);
  for (int trial = 0; trial < 200; ++trial) {
    const profiled made(random_law(random, 400, 14));
    const double drafted = static_cast<double>(random() % 1000) / 1000.0;
    std::uint32_t before = 0;
    for (const double rejected : {-0.3, 0.0, 0.2, 0.5, 0.9, 1.0, 1.7}) {
      const std::uint32_t k = specverify::online_support_size(made.profile, drafted, rejected);
      const double clipped = std::clamp(rejected, 0.0, 1.0);
      const double denominator =
          (1 - drafted) * std::log1p(std::exp(-2.0)) / 2 + drafted * std::log1p(std::exp(-2.0 * clipped)) / 2;
      std::uint32_t expected = 1;
      while (made.profile.distortion(expected) / denominator > 0.1) ++expected;
      REQUIRE(k == expected);
      REQUIRE(k >= before);
      before = k;
    }
  }
}

TEST_CASE(
    "online_vocabulary_budget: the kept tokens are those of k(t)* for the token, its share and its disagreements") {
  std::mt19937_64 random(51);
  std::uint32_t grew = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const hand::weights row = random_law(random, 300, 14);
    const numbers x = law_of(row);
    const auto token =
        static_cast<specverify::token_id>(trial % 2 == 0 ? std::max_element(row.begin(), row.end()) - row.begin()
                                                         : static_cast<std::ptrdiff_t>(random() % 300));
    std::size_t before = 0, first = 0;
    for (const std::uint32_t disagreements : {0u, 1u, 7u, 20u}) {
      const auto kept = select_with_token({{0.3, 2}}, hand::digest(row, row.size()), {token, disagreements, 20});
      REQUIRE(kept.why.ok());
      const double rejected = std::clamp(0.815 * disagreements / 20 - 0.066, 0.0, 1.0);
      const auto share = static_cast<double>(x[static_cast<std::size_t>(token)]);
      const double denominator =
          (1 - share) * std::log1p(std::exp(-2.0)) / 2 + share * std::log1p(std::exp(-2 * rejected)) / 2;
      const auto too_small = [&](std::size_t k) {
        return static_cast<double>(2 * distance(x, reconstruction(x, k))) / denominator > 0.3;
      };
      CHECK_FALSE(too_small(kept.kept.size()));
      CHECK((kept.kept.size() == 1 || too_small(kept.kept.size() - 1)));
      CHECK(kept.kept.size() >= before);
      before = kept.kept.size();
      if (disagreements == 0) first = before;
    }
    grew += before > first ? 1u : 0u;
    // Without a measurement, and without a token, it is the largest of all.
    const auto unmeasured = select_with_token({{0.3, 2}}, hand::digest(row, row.size()), {token, 0, 0});
    const auto plain = hand::select(online_vocabulary_budget{{0.3, 2}}, hand::digest(row, row.size()));
    CHECK(unmeasured.kept == plain.kept);
    CHECK(plain.kept.size() >= before);
  }
  CHECK(grew > 20);
}

TEST_CASE("online_vocabulary_budget: caps and errors") {
  const hand::weights row{40, 10, 25, 5, 20};
  const drawn_token drawn{2, 3, 20};
  const online_vocabulary_budget narrow{{1e-9, 2}};
  CHECK(select_with_token(narrow, hand::digest(row, 5), drawn).kept.size() ==
        4);  // of five the last one is its own tail
  online_vocabulary_budget capped = narrow;
  capped.max_support_size = 2;
  CHECK(select_with_token(capped, hand::digest(row, 5), drawn).kept == hand::ids{0, 2});
  CHECK(select_with_token(narrow, hand::digest(row, 3), drawn).why.code == errc::digest_insufficient);
  const double nan = std::bit_cast<double>(0x7FF8000000000000u);
  for (const online_vocabulary_budget& wrong :
       {online_vocabulary_budget{{0, 2}}, online_vocabulary_budget{{-1, 2}}, online_vocabulary_budget{{0.1, 0}},
        online_vocabulary_budget{{nan, 2}}, online_vocabulary_budget{{0.1, nan}}, online_vocabulary_budget{{}, nan},
        online_vocabulary_budget{{}, 1, nan}}) {
    CHECK(select_with_token(wrong, hand::digest(row, 5), drawn).why.code == errc::invalid_argument);
  }
  // A token that the digest does not know weighs nothing.
  CHECK(select_with_token({{0.3, 2}}, hand::digest(row, 5), {77, 0, 20}).kept ==
        select_with_token({{0.3, 2}}, hand::digest(row, 5), {77, 20, 20}).kept);
  const online_vocabulary_budget sparsifier;
  const hand::digest whole(row, 5);
  for (std::size_t size = 0; size < sparsifier.workspace_size({}, 5); size += 4) {
    std::vector<std::byte> bytes(size);
    specverify::workspace scratch{std::span(bytes)};
    const auto kept = sparsifier.select_with_token(whole.row(), drawn, scratch);
    if (!kept) {
      REQUIRE(kept.error().code == errc::workspace_too_small);
      REQUIRE(scratch.used() == 0);
      REQUIRE_FALSE(kept.ok());
    }
  }
}

TEST_CASE("NUM-1 online_vocabulary_budget: an option outside its range is named before any row") {
  CHECK(check(online_vocabulary_budget{}).ok());
  CHECK(check(online_vocabulary_budget{.size = {0, 2}}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
  CHECK(check(online_vocabulary_budget{.size = {0.1, -1}}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 1});
  CHECK(check(online_vocabulary_budget{.slope = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u})}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 2});
  CHECK(check(online_vocabulary_budget{.intercept = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u})}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 3});
}
