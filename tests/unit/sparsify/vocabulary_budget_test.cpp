// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/vocabulary_budget.hpp>

#include <doctest/doctest.h>

#include "tail_by_hand.hpp"

#include <bit>

using specverify::errc;
using specverify::tail_profile;
using specverify::vocabulary_budget;

using hand::distance, hand::law_of, hand::numbers, hand::profiled, hand::random_law, hand::reconstruction,
    hand::residual;

TEST_CASE("vocabulary_budget: the profile by hand") {
  const profiled made({40, 10, 25, 5, 20});
  CHECK(made.profile.size() == 5);
  // mean .2: .4 and .25 stand above it by .25
  CHECK(made.profile.distortion(0) == doctest::Approx(0.5).epsilon(1e-15));
  CHECK(made.profile.distortion(1) == doctest::Approx(0.30).epsilon(1e-15));  // mean .15: .25 and .20
  CHECK(made.profile.distortion(2) == doctest::Approx(1.0 / 6).epsilon(1e-14));
  CHECK(made.profile.distortion(3) == doctest::Approx(0.05).epsilon(1e-15));
  CHECK(made.profile.distortion(4) == 0);
  CHECK(made.profile.distortion(50) == 0);
  CHECK(made.profile.smallest(0.301) == 1);
  CHECK(made.profile.smallest(0.299) == 2);
  CHECK(made.profile.smallest(0.1) == 3);
  CHECK(made.profile.smallest(0) == 4);
  CHECK(profiled({7}).profile.smallest(0) == 1);
}

TEST_CASE("T19 N(k) is the distance from the reconstruction and never grows with k") {
  std::mt19937_64 random(19);
  for (std::uint32_t trial = 0; trial < 3000; ++trial) {
    const hand::weights row = hand::random_row(random, 1 + random() % 60, trial);
    const profiled made(row);
    const numbers x = law_of(row);
    double before = 2;
    for (std::size_t k = 0; k <= row.size(); ++k) {
      const double found = made.profile.distortion(static_cast<std::uint32_t>(k));
      REQUIRE(found == doctest::Approx(static_cast<double>(2 * distance(x, reconstruction(x, k)))).epsilon(1e-12));
      REQUIRE(found <= before + 1e-15);
      before = found;
    }
    // The smallest size for a budget, against a search one by one.
    const double budget = static_cast<double>(random() % 1000) / 1500.0;
    std::uint32_t k = 1;
    while (made.profile.distortion(k) > budget) ++k;
    REQUIRE(made.profile.smallest(budget) == k);
  }
}

TEST_CASE("T20 Proposition 1: TV(p, q) <= N(k) / TV(x, y)") {
  std::mt19937_64 random(20);
  for (int trial = 0; trial < 4000; ++trial) {
    const std::size_t size = 3 + random() % 62;
    const hand::weights row = random_law(random, size, 12);
    const numbers x = law_of(row), y = law_of(random_law(random, size, 12));
    const std::size_t k = 1 + random() % size;
    const double allowed = profiled(row).profile.distortion(static_cast<std::uint32_t>(k));
    const long double apart = distance(residual(y, x), residual(y, reconstruction(x, k)));
    REQUIRE(apart * distance(x, y) <= static_cast<long double>(allowed) + 1e-15L);
  }
}

TEST_CASE("T20 a budget on N(k) bounds the committed law, with the drafted token an entry of its own or not") {
  std::mt19937_64 random(77);
  for (int trial = 0; trial < 1500; ++trial) {
    const std::size_t size = 3 + random() % 40;
    const hand::weights row = random_law(random, size, 10);
    const numbers x = law_of(row), y = law_of(random_law(random, size, 10));
    const double epsilon = 0.3 * static_cast<double>(random() % 1000) / 1000.0;
    const hand::outcome kept = select(vocabulary_budget{epsilon}, hand::digest(row, size));
    REQUIRE(kept.why.ok());
    REQUIRE(2 * distance(x, reconstruction(x, kept.kept.size())) <= static_cast<long double>(epsilon) + 1e-15L);
    for (const bool entry : {false, true}) {
      numbers out(size, 0);
      for (std::size_t d = 0; d < size; ++d) {
        const long double beta = std::max(0.0L, 1 - y[d] / x[d]);
        out[d] += x[d] * (1 - beta);
        numbers reconstructed = reconstruction(x, kept.kept.size());
        if (entry && !std::binary_search(kept.kept.begin(), kept.kept.end(), static_cast<specverify::token_id>(d)) &&
            kept.kept.size() + 1 < size) {
          const long double each = (reconstructed[d] * static_cast<long double>(size - kept.kept.size()) - x[d]) /
                                   static_cast<long double>(size - kept.kept.size() - 1);
          for (std::size_t v = 0; v < size; ++v) {
            if (!std::binary_search(kept.kept.begin(), kept.kept.end(), static_cast<specverify::token_id>(v)))
              reconstructed[v] = each;
          }
          reconstructed[d] = x[d];
        }
        const numbers q = residual(y, reconstructed);
        for (std::size_t v = 0; v < size; ++v) out[v] += x[d] * beta * q[v];
      }
      REQUIRE(distance(out, y) <= static_cast<long double>(epsilon) + 1e-15L);
    }
  }
}

TEST_CASE("vocabulary_budget: the offline size is the least with a mean of N(k) / TV(x, y) below theta") {
  std::mt19937_64 random(46);
  std::vector<double> sums(120, 0.0);
  specverify::offline_calibration statistics{sums};
  CHECK(specverify::calibrate_offline(statistics, 0.1) == 0);
  std::vector<hand::weights> rows;
  std::vector<double> variations;
  for (int round = 0; round < 40; ++round) {
    rows.push_back(random_law(random, 150, 12));
    variations.push_back(round % 8 == 0 ? 1e-7 * (round % 2) : 0.05 + static_cast<double>(random() % 100) / 200.0);
    specverify::record(statistics, profiled(rows.back()).profile, variations.back());
  }
  // NaN: no report
  specverify::record(statistics, profiled(rows.back()).profile, std::bit_cast<double>(0x7FF8000000000000u));
  CHECK(statistics.rounds == 35);
  for (const double theta : {0.5, 0.1, 0.02, 1e-3}) {
    std::uint32_t expected = 0;
    for (std::uint32_t k = 1; k <= sums.size() && expected == 0; ++k) {
      long double mean = 0;
      for (std::size_t t = 0; t < rows.size(); ++t) {
        const numbers x = law_of(rows[t]);
        if (variations[t] > 1e-6)
          mean += 2 * distance(x, reconstruction(x, k)) / static_cast<long double>(variations[t]) / 35;
      }
      if (mean <= static_cast<long double>(theta)) expected = k;
    }
    CHECK(specverify::calibrate_offline(statistics, theta) == expected);
  }
  CHECK(specverify::calibrate_offline(statistics, 1e-12) == 0);  // none of the sizes recorded suffices
}

TEST_CASE("vocabulary_budget as a sparsifier: sizes, caps, ties, errors") {
  const hand::weights row{40, 10, 25, 5, 20};
  CHECK(select(vocabulary_budget{0.1}, hand::digest(row, 5)).kept == hand::ids{0, 2, 4});
  CHECK(select(vocabulary_budget{0.1, 4}, hand::digest(row, 5)).kept == hand::ids{0, 1, 2, 4});
  CHECK(select(vocabulary_budget{0.1, 1, 2}, hand::digest(row, 5)).kept == hand::ids{0, 2});
  CHECK(select(vocabulary_budget{2.0}, hand::digest(row, 5)).kept == hand::ids{0});
  CHECK(select(vocabulary_budget{0.1, 40}, hand::digest(row, 5)).kept.size() == 5);
  CHECK(select(vocabulary_budget{0.0}, hand::digest({9, 9, 9}, 3)).kept == hand::ids{0});  // a flat law is its own tail
  CHECK(select(vocabulary_budget{0.1}, hand::digest(row, 5)).total_weight == 100);
  CHECK(select(vocabulary_budget{0.1}, hand::digest(row, 3)).why.code == errc::digest_insufficient);
  CHECK(select(vocabulary_budget{-0.1}, hand::digest(row, 5)).why.code == errc::invalid_argument);
  CHECK(select(vocabulary_budget{2.1}, hand::digest(row, 5)).why.code == errc::invalid_argument);
  CHECK(select(vocabulary_budget{std::bit_cast<double>(0x7FF8000000000000u)}, hand::digest(row, 5)).why.code ==
        errc::invalid_argument);
  const vocabulary_budget sparsifier;
  CHECK(sparsifier.request({}, 77).top_entries == 77);
  const hand::digest whole(row, 5);
  for (std::size_t size = 0; size < sparsifier.workspace_size({}, 5); size += 4) {
    std::vector<std::byte> bytes(size);
    specverify::workspace scratch{std::span(bytes)};
    const auto kept = sparsifier.select(whole.row(), {}, scratch);
    if (!kept) {
      REQUIRE(kept.error().code == errc::workspace_too_small);
      REQUIRE(scratch.used() == 0);
      REQUIRE_FALSE(kept.ok());
    }
  }
}

TEST_CASE_TEMPLATE("vocabulary_budget of a real digest", Policy, specverify::exec::seq_policy,
                   specverify::exec::simd_policy) {
  std::mt19937_64 random(5);
  const std::uint32_t vocab_size = 5000;
  std::vector<float> logits(vocab_size);
  for (float& z : logits) z = static_cast<float>(-static_cast<double>(random() % 1000) / 80.0);
  const vocabulary_budget sparsifier{0.05};
  const auto wanted = sparsifier.request({}, vocab_size);
  std::vector<std::byte> bytes(specverify::digest_workspace_size(vocab_size, {}, wanted)),
      more(sparsifier.workspace_size({}, vocab_size));
  specverify::workspace space{std::span(bytes)}, scratch{std::span(more)};
  const auto reading =
      specverify::read_row(Policy{}, specverify::logits_row(std::span<const float>(logits)), {}, wanted, space);
  REQUIRE(reading.ok());
  const auto selected = sparsifier.select(*reading, {}, scratch);
  REQUIRE(selected.ok());
  const specverify::support& kept = *selected;
  CHECK(check(kept).ok());
  numbers x(vocab_size);
  long double sum = 0;
  for (std::uint32_t v = 0; v < vocab_size; ++v) sum += x[v] = std::exp(static_cast<long double>(logits[v]));
  for (long double& mass : x) mass /= sum;
  const auto exact = [&](std::size_t k) { return static_cast<double>(2 * distance(x, reconstruction(x, k))); };
  CHECK(exact(kept.size()) <= 0.05 + 1e-6);
  CHECK(exact(kept.size() - 1) > 0.05 - 1e-6);
}

namespace {

//! N(k) of descending weights, in integers but for the last quotient; V up to 2^15.
long double exact_distortion(const hand::weights& descending, std::size_t k) {
  const std::uint64_t left = descending.size() - k;
  std::uint64_t rest = 0, above = 0;
  for (std::size_t i = k; i < descending.size(); ++i) rest += descending[i];
  for (std::size_t i = k; i < descending.size() && descending[i] * left > rest; ++i)
    above += descending[i] * left - rest;
  return 2 * static_cast<long double>(above) / static_cast<long double>(left) /
         static_cast<long double>(hand::total(descending));
}

}  // namespace

TEST_CASE(
    "vocabulary_budget: N(k) is within 2^-50 of the tail's mass of what the weights say, near-even tails included") {
  std::mt19937_64 random(50);
  double worst_relative = 0;
  for (const std::uint32_t size : {3u, 100u, 4000u}) {
    for (const std::uint32_t spread : {2u, 5u, 1000u, 1u << 30}) {
      hand::weights row(size, 1u << 31);  // equal but for `spread` of 2^31
      for (std::size_t i = 1; i < size; ++i) row[i] -= static_cast<std::uint32_t>(random() % spread);
      std::sort(row.rbegin(), row.rend());
      const profiled made(row);
      std::uint64_t sent = 0;
      for (std::size_t k = 0; k < size; k += 1 + size / 7) {
        const long double exact = exact_distortion(row, k);
        const auto apart =
            static_cast<double>(std::fabs(made.profile.distortion(static_cast<std::uint32_t>(k)) - exact));
        sent = std::accumulate(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(k), std::uint64_t{0});
        const double rest = 1 - static_cast<double>(sent) / static_cast<double>(hand::total(row));
        CHECK(apart <= rest * 0x1.0p-50);
        if (exact > 0) worst_relative = std::max(worst_relative, apart / static_cast<double>(exact));
      }
    }
  }
  CHECK(worst_relative > 0x1.0p-50);  // it is no relative error
}

TEST_CASE("vocabulary_budget: the law's own N(k) is within V / 2^30 + 2^-23, what 31-bit weights leave") {
  std::mt19937_64 random(31);
  const std::uint32_t vocab_size = 50257;
  double worst_relative = 0;
  for (const double depth : {8.0, 14.0, 19.0}) {  // a sure head, and a tail so many nats down
    std::vector<double> logits(vocab_size);
    for (double& z : logits) z = -depth - static_cast<double>(random() % 4096) / 1024;
    for (std::size_t i = 0; i < 20; ++i) logits[i] = -static_cast<double>(i) / 4;
    numbers x(vocab_size);
    hand::weights row(vocab_size);
    long double sum = 0;
    for (std::size_t v = 0; v < vocab_size; ++v) {
      row[v] = specverify::kernel::logit_weight(logits[v], 0.0, specverify::kernel::weight_scale(1.0));
      sum += x[v] = std::exp(static_cast<long double>(logits[v]));
    }
    for (long double& mass : x) mass /= sum;
    const profiled made(row);
    for (const std::uint32_t k : {1u, 10u, 20u, 1000u}) {
      const long double exact = 2 * distance(x, reconstruction(x, k));
      const auto apart = static_cast<double>(std::fabs(made.profile.distortion(k) - exact));
      CHECK(apart <= vocab_size * 0x1.0p-30 + 0x1.0p-23);
      worst_relative = std::max(worst_relative, apart / static_cast<double>(exact));
    }
  }
  CHECK(worst_relative > 1e-4);
}

TEST_CASE("NUM-1 vocabulary_budget: an option outside its range is named before any row") {
  CHECK(check(vocabulary_budget{}).ok());
  CHECK(check(vocabulary_budget{2}).ok());
  CHECK(check(vocabulary_budget{std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u})}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
  CHECK(check(vocabulary_budget{2.1}) == specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
}
