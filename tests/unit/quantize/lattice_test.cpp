// SPDX-License-Identifier: Apache-2.0
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>

#include <doctest/doctest.h>
#include <reference/lattice.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

namespace {

using specverify::errc;
using specverify::lattice;
using specverify::lattice_support_size;
using specverify::sparse_lattice;
using specverify::status;
using specverify::support;
using specverify::token_id;
using specverify::workspace;
using counts = std::vector<std::uint32_t>;

struct outcome {
  status why;
  counts dense;  // one count per id of the vocabulary
};

// The `keep` largest entries of the row (weight descending, id ascending), ids ascending, quantized over the weight of
// the whole row.
outcome quantize(const std::vector<std::uint32_t>& row, std::uint32_t resolution, std::size_t keep) {
  std::vector<token_id> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto weight = [&](token_id id) { return row[static_cast<std::size_t>(id)]; };
  std::stable_sort(ids.begin(), ids.end(), [&](token_id a, token_id b) { return weight(a) > weight(b); });
  ids.resize(std::min(keep, ids.size()));
  std::sort(ids.begin(), ids.end());
  std::vector<std::uint32_t> weights;
  for (const token_id id : ids) weights.push_back(weight(id));
  const support kept{ids, weights, std::accumulate(row.begin(), row.end(), std::uint64_t{0}),
                     static_cast<std::uint32_t>(row.size())};
  std::vector<std::byte> bytes(lattice::workspace_size(static_cast<std::uint32_t>(ids.size())));
  workspace scratch{bytes};
  counts b(ids.size(), 77);
  outcome out{lattice{}.quantize(kept, resolution, b, scratch).error(), counts(row.size(), 0)};
  CHECK(scratch.used() == 0);
  if (!out.why.ok()) CHECK(b == counts(ids.size(), 77));
  for (std::size_t i = 0; i < ids.size(); ++i) out.dense[static_cast<std::size_t>(ids[i])] = b[i];
  return out;
}

// The same rule over every entry of the row.
counts over_all(const std::vector<std::uint32_t>& row, std::uint32_t resolution) {
  std::vector<token_id> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<std::byte> bytes(sparse_lattice::workspace_size(static_cast<std::uint32_t>(row.size())));
  workspace scratch{bytes};
  counts b(row.size());
  const support all{ids, row, std::accumulate(row.begin(), row.end(), std::uint64_t{0}),
                    static_cast<std::uint32_t>(row.size())};
  REQUIRE(sparse_lattice{}.quantize(all, resolution, b, scratch).ok());
  return b;
}

std::vector<std::uint32_t> random_row(std::mt19937_64& random, std::size_t size, std::uint32_t shape) {
  std::vector<std::uint32_t> row(size);
  for (std::size_t i = 0; i < size; ++i) {
    switch (shape % 6) {
      case 0:
        row[i] = static_cast<std::uint32_t>(random() >> 33);
        break;  // flat
      case 1:
        row[i] = static_cast<std::uint32_t>(random() >> 33) >> (random() % 32);
        break;  // log-uniform
      case 2:
        row[i] = static_cast<std::uint32_t>((std::uint64_t{1} << 31) / (i + 1));
        break;  // Zipf
      case 3:
        row[i] = static_cast<std::uint32_t>(1 + random() % 3);
        break;  // many ties
      case 4:
        row[i] = 1u << 31;
        break;  // all tied
      default:
        row[i] = i % 7 == 3 ? 1u << 30 : 0;
        break;  // mostly forbidden
    }
  }
  if (row[size / 2] == 0) row[size / 2] = 1;
  return row;
}

}  // namespace

TEST_CASE("T11 lattice worked examples") {
  CHECK(quantize({5, 3, 2}, 4, 3).dense == counts{2, 1, 1});
  CHECK(quantize({4, 4, 2}, 4, 3).dense == counts{2, 1, 1});
  CHECK(quantize({2, 9, 2, 5, 2}, 2, 4).dense == counts{0, 1, 0, 1, 0});
  CHECK(quantize({2, 9, 2, 5, 2}, 2, 3).dense == counts{0, 1, 0, 1, 0});
}

TEST_CASE("lattice: how many entries suffice") {
  static_assert(lattice_support_size(10, 5) == 10);
  static_assert(lattice_support_size(10, 4) == 8);
  static_assert(lattice_support_size(11, 5) == 10);
  static_assert(lattice_support_size(11, 6) == 11);
  static_assert(lattice_support_size(1u << 24, 1u << 16) == 1u << 17);
  static_assert(lattice_support_size(1, 0xFFFFFFFFu) == 1);
}

TEST_CASE("T9 lattice: the largest 2 l entries give the counts of the rule over the whole row") {
  std::mt19937_64 random(21);
  for (std::uint32_t trial = 0; trial < 3000; ++trial) {
    const std::size_t size = 1 + random() % (trial % 3 == 0 ? 8 : 300);
    const std::uint32_t resolution = 1 + static_cast<std::uint32_t>(random() % (trial % 2 == 0 ? 4 : 120));
    const std::vector<std::uint32_t> row = random_row(random, size, trial);
    const counts expected = over_all(row, resolution);
    const outcome out = quantize(row, resolution, lattice_support_size(static_cast<std::uint32_t>(size), resolution));
    REQUIRE(out.why.ok());
    REQUIRE(out.dense == expected);
    // Fewer entries give the same counts or a status that says so, never other counts.
    const outcome fewer = quantize(row, resolution, 1 + random() % size);
    if (fewer.why.ok()) {
      REQUIRE(fewer.dense == expected);
    } else {
      REQUIRE(fewer.why.code == errc::digest_insufficient);
    }
  }
}

TEST_CASE("T11 lattice equals the printed rule in floating point where no tie decides") {
  std::mt19937_64 random(22);
  for (std::uint32_t trial = 0; trial < 500; ++trial) {
    const std::size_t size = 1 + random() % 2000;
    const std::uint32_t resolution = 1 + static_cast<std::uint32_t>(random() % 300);
    std::vector<std::uint32_t> row = random_row(random, size, 0);
    const long double total = std::accumulate(row.begin(), row.end(), 0.0L);
    std::vector<long double> q;
    for (const std::uint32_t weight : row) q.push_back(static_cast<long double>(weight) / total);
    const std::vector<std::int64_t> expected = reference::lattice(q, static_cast<std::int64_t>(resolution));
    const outcome out = quantize(row, resolution, 2 * resolution);
    REQUIRE(out.why.ok());
    for (std::size_t i = 0; i < size; ++i) REQUIRE(static_cast<std::int64_t>(out.dense[i]) == expected[i]);
  }
}

TEST_CASE("T30 lattice at the edges: V = 1, l = 1, V < l, one token allowed") {
  CHECK(quantize({9}, 1u << 16, 1).dense == counts{1u << 16});
  CHECK(quantize({3, 9, 9, 1}, 1, 2).dense == counts{0, 1, 0, 0});
  CHECK(quantize({1, 2}, 300, 2).dense == counts{100, 200});
  CHECK(quantize({0, 0, 5, 0}, 7, 1).dense == counts{0, 0, 7, 0});
  const outcome wide = quantize(std::vector<std::uint32_t>(1u << 18, 1u << 31), 1u << 10, 1u << 11);
  REQUIRE(wide.why.ok());
  CHECK(wide.dense[1023] == 1);
  CHECK(wide.dense[1024] == 0);
}

TEST_CASE("lattice says when the digest gathered too little") {
  // 100 equal tokens at l = 10: the first ten gain one each, and four entries cannot show that.
  const std::vector<std::uint32_t> flat(100, 5);
  CHECK(quantize(flat, 10, 4).why == status{errc::digest_insufficient, specverify::part::quantize, 20});
  CHECK(quantize(flat, 10, 10).why.ok());
  // Both listed tokens round to 1 or more, so a third might as well.
  CHECK(quantize({5, 5, 5, 1}, 3, 2).why.code == errc::digest_insufficient);
}

TEST_CASE("lattice refuses bad input and leaves the counts alone") {
  const std::array<token_id, 3> ids{0, 1, 2};
  const std::array<std::uint32_t, 3> weights{1, 2, 3};
  const std::array<std::uint32_t, 3> heavy{1, 2, (1u << 31) + 1};
  const std::array<std::uint32_t, 3> nothing{};
  counts b(3, 77);
  std::vector<std::byte> bytes(lattice::workspace_size(3));
  workspace scratch{bytes};
  const auto code = [&](const support& kept, std::uint32_t resolution) {
    return lattice{}.quantize(kept, resolution, b, scratch).error().code;
  };
  CHECK(code({ids, weights, 6, 3}, 0) == errc::invalid_resolution);
  CHECK(code({ids, weights, 6, 3}, (1u << 16) + 1) == errc::invalid_resolution);
  CHECK(code({ids, std::span(weights).first(2), 6, 3}, 1) == errc::size_mismatch);
  CHECK(code({ids, weights, 5, 3}, 1) == errc::size_mismatch);
  CHECK(code({}, 1) == errc::empty_support);
  CHECK(code({ids, heavy, std::uint64_t{1} << 40, 3}, 1) == errc::weight_too_large);
  CHECK(code({ids, weights, (std::uint64_t{1} << 55) + 1, 3}, 1) == errc::weight_too_large);
  CHECK(code({ids, nothing, 0, 3}, 1) == errc::zero_weight);
  CHECK(code({ids, weights, std::uint64_t{1} << 50, 3}, 1u << 16) == errc::digest_insufficient);
  CHECK(lattice{}.quantize({ids, weights, 6, 3}, 4, std::span(b).first(2), scratch).error().code ==
        errc::output_too_small);
  workspace small{std::span(bytes).first(64)};
  CHECK(lattice{}.quantize({ids, weights, 6, 3}, 4, b, small).error().code == errc::workspace_too_small);
  CHECK(small.used() == 0);
  CHECK(scratch.used() == 0);
  CHECK(b == counts(3, 77));
}

TEST_CASE("lattice: bounds of W that give counts give those of every W between them") {
  std::mt19937 random(77);
  std::uint32_t given = 0, open = 0;
  for (std::uint32_t trial = 0; trial < 6000; ++trial) {
    const auto size = static_cast<std::uint32_t>(1 + random() % 12),
               resolution = static_cast<std::uint32_t>(1 + random() % 9);
    std::vector<std::uint32_t> weights(size);
    std::uint64_t listed = 0;
    for (std::uint32_t& weight : weights) listed += weight = 1 + static_cast<std::uint32_t>(random() % 40);
    std::vector<token_id> ids(size);
    std::iota(ids.begin(), ids.end(), 0);
    const std::uint64_t least = listed + random() % 60, most = least + random() % 12;
    support kept{ids, weights, 0, 2 * size};
    std::vector<std::byte> bytes(lattice::workspace_size(size));
    workspace scratch{bytes};
    counts between(size, 77);
    const auto made = lattice{}.quantize_within(kept, {least, most}, resolution, between, scratch);
    CHECK(scratch.used() == 0);
    if (!made || made->empty()) {
      REQUIRE(between == counts(size, 77));
      if (made) ++open;
      if (!made) {  // only where W is known
        REQUIRE(made.error().code == errc::digest_insufficient);
        REQUIRE(least == most);
      }
      continue;
    }
    ++given;
    for (std::uint64_t total = least; total <= most; ++total) {
      kept.total_weight = total;
      counts exact(size);
      REQUIRE(lattice{}.quantize(kept, resolution, exact, scratch).ok());
      REQUIRE(between == exact);
    }
  }
  CHECK(given > 1000);
  CHECK(open > 300);
}

TEST_CASE("lattice: bounds that cannot be") {
  const std::vector<token_id> ids{0, 1};
  const std::vector<std::uint32_t> weights{3, 4};
  std::vector<std::byte> bytes(lattice::workspace_size(2));
  workspace scratch{bytes};
  counts b(2);
  const support kept{ids, weights, 0, 2};
  CHECK(lattice{}.quantize_within(kept, {}, 5, b, scratch).error().code == errc::zero_weight);
  CHECK(lattice{}.quantize_within(kept, {5, 6}, 5, b, scratch).error().code == errc::size_mismatch);
  CHECK(lattice{}.quantize_within(kept, {1, std::uint64_t{1} << 62}, 5, b, scratch).error().code ==
        errc::weight_too_large);
}
