// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <doctest/doctest.h>

#include "hand_digest.hpp"

#include <cmath>
#include <vector>

using specverify::compressed_law_options;
using specverify::errc;
using specverify::token_id;
using specverify::value_format;

namespace {

struct made {
  specverify::status why{};
  specverify::law law{};
  specverify::mismatched_draft draft{};
};

//! Top k of a row and its compressed law; with a token the paper's draft.
struct compressed {
  compressed(const hand::weights& row, std::uint32_t k, compressed_law_options options,
             token_id token = specverify::no_token)
      : of(row, row.size()), bytes(row.size() * 64 + 1024) {
    specverify::workspace space{std::span(bytes)};
    const specverify::top_k sparsifier{k, true};
    const auto selected = sparsifier.select(of.row(), {}, space);
    REQUIRE(selected.ok());
    kept = *selected;
    const std::size_t before = space.used();
    if (token == specverify::no_token) {
      const auto made_law = specverify::compressed_law(kept, options, space);
      result.why = made_law.error();
      if (made_law) result.law = *made_law;
    } else {
      const auto draft = specverify::compressed_draft(of.row(), kept, token, options, space);
      result.why = draft.error();
      if (draft) result.draft = *draft;
      result.law = result.draft.claimed_law;
    }
    if (!result.why.ok()) CHECK(space.used() == before);
  }
  hand::digest of;
  std::vector<std::byte> bytes;
  specverify::support kept{};
  made result{};
};

std::vector<std::uint32_t> dense(const specverify::law& law) {
  std::vector<std::uint32_t> counts;
  for (std::uint32_t v = 0; v < law.vocab_size; ++v) counts.push_back(law.count(static_cast<token_id>(v)));
  return counts;
}

double share(std::uint32_t count, std::uint32_t resolution) {
  return static_cast<double>(count) / static_cast<double>(resolution);
}

//! The lattice point by its definition over integer weights, the tail's last, in 128-bit integers; ties by (zeta,
//! index).
__extension__ using wide = __int128;
std::vector<std::uint32_t> plain_lattice(const std::vector<std::uint64_t>& weights, std::uint32_t resolution) {
  wide total = 0, sum = 0;
  for (const std::uint64_t weight : weights) total += weight;
  std::vector<wide> counts;
  std::vector<std::pair<wide, std::size_t>> order;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const wide scaled = static_cast<wide>(weights[i]) * resolution;
    counts.push_back((2 * scaled + total) / (2 * total));
    order.push_back({counts[i] * total - scaled, i});
    sum += counts[i];
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = order.size(); sum > static_cast<wide>(resolution); --sum) --counts[order[--i].second];
  for (std::size_t i = 0; sum < static_cast<wide>(resolution); ++sum) ++counts[order[i++].second];
  std::vector<std::uint32_t> narrow;
  for (const wide count : counts) narrow.push_back(static_cast<std::uint32_t>(count));
  return narrow;
}

}  // namespace

TEST_CASE("compressed_law: exact values and an even tail") {
  const compressed all({40, 10, 25, 5, 20}, 2, {});
  REQUIRE(all.result.why.ok());
  CHECK(check(all.result.law).ok());
  const double unit = all.result.law.resolution;
  const std::vector<std::uint32_t> counts = dense(all.result.law);
  CHECK(counts[0] / unit == doctest::Approx(0.40).epsilon(1e-8));
  CHECK(counts[2] / unit == doctest::Approx(0.25).epsilon(1e-8));
  for (const std::size_t v : {1u, 3u, 4u}) CHECK(counts[v] / unit == doctest::Approx(0.35 / 3).epsilon(1e-8));
  const compressed whole({40, 10, 25}, 3, {});  // k = V: x^ = x
  REQUIRE(whole.result.why.ok());
  CHECK(whole.result.law.tail_count == 0);
  CHECK(share(whole.result.law.count(1), whole.result.law.resolution) == doctest::Approx(10.0 / 75).epsilon(1e-8));
}

TEST_CASE("compressed_law: any row, within V / 2^32 of the paper's") {
  std::mt19937_64 random(14);
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    const hand::weights row = hand::random_row(random, 2 + random() % 80, trial);
    const auto k = static_cast<std::uint32_t>(1 + random() % row.size());
    const compressed it(row, k, {});
    REQUIRE(it.result.why.ok());
    REQUIRE(check(it.result.law).ok());
    const auto total = static_cast<long double>(hand::total(row));
    long double rest = total, apart = 0;
    for (const std::uint32_t weight : it.kept.weights) rest -= weight;
    for (std::uint32_t v = 0; v < row.size(); ++v) {
      const bool listed = std::binary_search(it.kept.ids.begin(), it.kept.ids.end(), static_cast<token_id>(v));
      const long double paper =
          listed ? row[v] / total : rest / total / static_cast<long double>(row.size() - it.kept.size());
      apart += std::fabs(paper - static_cast<long double>(it.result.law.count(static_cast<token_id>(v))) /
                                     it.result.law.resolution) /
               2;
    }
    REQUIRE(apart <= static_cast<long double>(row.size()) * 0x1.0p-32L);
  }
}

TEST_CASE("compressed_law: a lattice over the tokens sent and the tail, as it travels") {
  std::mt19937_64 random(255);
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    const hand::weights row = hand::random_row(random, 2 + random() % 80, trial);
    const auto k = static_cast<std::uint32_t>(1 + random() % row.size());
    const std::uint32_t resolution = trial % 3 == 0 ? 1 + static_cast<std::uint32_t>(random() % 4) : 255;
    const compressed it(row, k, {value_format::lattice, resolution});
    REQUIRE(it.result.why.ok());
    REQUIRE(check(it.result.law).ok());
    const std::uint32_t others = static_cast<std::uint32_t>(row.size()) - it.kept.size();
    REQUIRE(it.result.law.resolution == resolution * std::max(others, 1u));
    std::vector<std::uint64_t> weights(it.kept.weights.begin(), it.kept.weights.end());
    if (others > 0)
      weights.push_back(hand::total(row) - std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    const std::vector<std::uint32_t> expected = plain_lattice(weights, resolution);
    for (std::uint32_t i = 0; i < it.kept.size(); ++i)
      REQUIRE(it.result.law.counts[i] == expected[i] * std::max(others, 1u));
    if (others > 0) REQUIRE(it.result.law.tail_count == expected.back());
  }
  const compressed none({100, 1, 1}, 1, {value_format::lattice, 2});
  CHECK(dense(none.result.law) == std::vector<std::uint32_t>{4, 0, 0});  // the tail rounds to nothing
}

TEST_CASE("compressed_law: a tail far above 2^31 keeps the lattice exact in 64 bits") {
  const hand::weights flat(5000, 1u << 31);
  for (const std::uint32_t resolution : {255u, 65536u}) {
    const compressed it(flat, 3, {value_format::lattice, resolution});
    REQUIRE(it.result.why.ok());
    CHECK(it.result.law.tail_count == plain_lattice({1, 1, 1, 4997}, resolution)[3]);
  }
}

TEST_CASE(
    "E17 compressed_draft: the paper's order: an entry of its own for a token outside the largest, tested against its "
    "own probability") {
  const hand::weights row{40, 10, 25, 5, 20};
  compressed it(row, 2, {}, 3);
  REQUIRE(it.result.why.ok());
  CHECK(it.result.draft.token == 3);
  CHECK(share(it.result.draft.count, it.result.draft.resolution) == doctest::Approx(0.05).epsilon(1e-8));
  CHECK(it.result.law.size == 3);
  CHECK(share(it.result.law.count(3), it.result.law.resolution) == doctest::Approx(0.05).epsilon(1e-8));
  // (r - x_d) / (V - k - 1)
  CHECK(share(it.result.law.count(1), it.result.law.resolution) == doctest::Approx(0.15).epsilon(1e-8));
  compressed off(row, 2, {.draft_entry = false}, 3);
  CHECK(off.result.law.size == 2);
  CHECK(share(off.result.draft.count, off.result.draft.resolution) == doctest::Approx(0.05).epsilon(1e-8));
  CHECK(share(off.result.law.count(3), off.result.law.resolution) == doctest::Approx(0.35 / 3).epsilon(1e-8));
  compressed inside(row, 2, {}, 2);
  CHECK(inside.result.law.size == 2);
  CHECK(share(inside.result.draft.count, inside.result.draft.resolution) == doctest::Approx(0.25).epsilon(1e-8));
  compressed coarse(row, 2, {value_format::lattice, 10}, 3);
  CHECK(coarse.result.law.size == 3);
  CHECK(share(coarse.result.draft.count, coarse.result.draft.resolution) == doctest::Approx(0.05).epsilon(1e-8));
  compressed first(row, 1, {}, 1), last(row, 1, {}, 4);
  CHECK(check(first.result.law).ok());
  CHECK(check(last.result.law).ok());
  CHECK(first.result.law.find(1) == 1);
  CHECK(compressed({7, 0, 3}, 1, {}, 1).result.draft.count == 0);
}

TEST_CASE("compressed_law: errors") {
  const hand::weights row{40, 10, 25, 5, 20};
  CHECK(compressed(row, 2, {value_format::lattice, 0}).result.why.code == errc::invalid_resolution);
  CHECK(compressed(row, 2, {value_format::lattice, 65537}).result.why.code == errc::invalid_resolution);
  CHECK(compressed(hand::weights(70000, 1), 2, {value_format::lattice, 65536}).result.why.code ==
        errc::invalid_resolution);
  CHECK(compressed(row, 2, {}, 5).result.why.code == errc::token_out_of_range);
  CHECK(compressed(row, 2, {}, -2).result.why.code == errc::token_out_of_range);
  const std::vector<token_id> ids{0, 2};
  const std::vector<std::uint32_t> weights{40, 25};
  std::vector<std::byte> bytes(specverify::compressed_law_workspace_size(2));
  specverify::workspace space{std::span(bytes)};
  CHECK(specverify::compressed_law({ids, weights, 0, 5}, {}, space).error().code == errc::digest_insufficient);
  CHECK(specverify::compressed_law({ids, weights, 60, 5}, {}, space).error().code == errc::size_mismatch);
  CHECK(specverify::compressed_law({ids, std::span(weights).first(1), 100, 5}, {}, space).error().code ==
        errc::size_mismatch);
  CHECK(specverify::compressed_law({{}, {}, 100, 5}, {}, space).error().code == errc::empty_support);
  CHECK(specverify::compressed_law({ids, std::vector<std::uint32_t>{0, 0}, 100, 5}, {}, space).error().code ==
        errc::zero_weight);
  CHECK(specverify::compressed_law({ids, weights, 100, 1}, {}, space).error().code == errc::token_out_of_range);
  CHECK(space.used() == 0);
  for (const value_format format : {value_format::exact, value_format::lattice}) {
    CHECK(specverify::compressed_law({ids, weights, 100, 5}, {format}, space).ok());
    space.rewind(0);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      specverify::workspace small{std::span(bytes).first(size)};
      const auto refused = specverify::compressed_law({ids, weights, 100, 5}, {format}, small);
      if (refused) break;
      REQUIRE(refused.error().code == errc::workspace_too_small);
      REQUIRE(small.used() == 0);
    }
  }
}
