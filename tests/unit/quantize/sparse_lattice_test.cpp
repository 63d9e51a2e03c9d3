// SPDX-License-Identifier: Apache-2.0
#include <specverify/quantize/sparse_lattice.hpp>

#include <doctest/doctest.h>
#include <reference/lattice.hpp>

#include <array>
#include <numeric>
#include <random>
#include <vector>

namespace {

using specverify::errc;
using specverify::sparse_lattice;
using specverify::status;
using specverify::support;
using specverify::token_id;
using specverify::workspace;

struct outcome {
  status why;
  std::vector<std::uint32_t> counts;
};

// Quantizes on the ids 0, 1, ... of a vocabulary just as large. `outside` is weight of the row that the support
// dropped.
outcome quantize(const std::vector<std::uint32_t>& weights, std::uint32_t resolution, std::uint64_t outside = 0) {
  std::vector<token_id> ids(weights.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<std::byte> bytes(sparse_lattice::workspace_size(static_cast<std::uint32_t>(weights.size())));
  workspace scratch{bytes};
  const support kept{ids, weights, std::accumulate(weights.begin(), weights.end(), outside),
                     static_cast<std::uint32_t>(weights.size())};
  outcome out{{}, std::vector<std::uint32_t>(weights.size(), 77)};
  out.why = sparse_lattice{}.quantize(kept, resolution, out.counts, scratch).error();
  CHECK(scratch.used() == 0);
  return out;
}

std::vector<std::uint32_t> counts_of(const std::vector<std::uint32_t>& weights, std::uint32_t resolution) {
  const outcome out = quantize(weights, resolution);
  REQUIRE(out.why.ok());
  return out.counts;
}

using counts = std::vector<std::uint32_t>;

std::vector<std::uint32_t> random_weights(std::mt19937_64& random, std::size_t size, std::uint32_t shape) {
  std::vector<std::uint32_t> weights(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t draw = static_cast<std::uint32_t>(random() >> 33) + 1;  // 1 .. 2^31
    switch (shape % 5) {
      case 0:
        weights[i] = draw;
        break;  // uniform
      case 1:
        weights[i] = draw >> (random() % 31);
        break;  // log-uniform, zeros possible
      case 2:
        weights[i] = 1u << 31;
        break;  // all equal
      case 3:
        weights[i] = i == 0 ? 1u << 31 : static_cast<std::uint32_t>(random() % 3);
        break;  // one-hot with specks
      default:
        weights[i] = 1000 + static_cast<std::uint32_t>(random() % 3);
        break;  // near ties
    }
  }
  if (weights[0] == 0) weights[0] = 1;
  return weights;
}

}  // namespace

TEST_CASE("T11 sparse_lattice worked examples") {
  CHECK(counts_of({5, 3, 2}, 4) == counts{2, 1, 1});
  CHECK(counts_of({5, 3, 2}, 10) == counts{5, 3, 2});
  CHECK(counts_of({1, 1, 1}, 10) == counts{4, 3, 3});
  CHECK(counts_of({7, 2, 1}, 1) == counts{1, 0, 0});
  CHECK(counts_of({1u << 31, 1u << 31}, 1u << 16) == counts{1u << 15, 1u << 15});
}

TEST_CASE("T11 E6 sparse_lattice ties go to the smaller id") {
  CHECK(counts_of({4, 4, 2}, 4) == counts{2, 1, 1});              // one too many: b' = (2,2,1), index 1 loses
  CHECK(counts_of({1, 1, 1, 1}, 2) == counts{1, 1, 0, 0});        // b' = (1,1,1,1): the last two lose
  CHECK(counts_of({1, 1, 1, 1, 1}, 2) == counts{1, 1, 0, 0, 0});  // b' = 0: the first two gain
  CHECK(counts_of({3, 3, 3, 1}, 3) == counts{1, 1, 1, 0});
}

TEST_CASE("T11 E6 sparse_lattice renormalises over the support") {
  // Weight of the row outside the support must not change a count.
  CHECK(quantize({7, 2, 1}, 10, 4).counts == counts{7, 2, 1});
  CHECK(quantize({4, 4, 2}, 4, 2).counts == counts{2, 1, 1});
}

TEST_CASE("T11 sparse_lattice is within the TV bound") {
  std::mt19937_64 random(11);
  for (const std::size_t size : {2u, 3u, 4u, 5u, 8u, 16u}) {
    for (const std::uint32_t resolution : {1u, 2u, 5u, 10u, 100u}) {
      for (std::uint32_t trial = 0; trial < 400; ++trial) {
        std::vector<std::uint32_t> weights = random_weights(random, size, trial);
        const counts b = counts_of(weights, resolution);
        CHECK(std::accumulate(b.begin(), b.end(), 0u) == resolution);
        const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
        REQUIRE(size * reference::scaled_l1(b, weights, resolution) <= 2 * (size / 2) * ((size + 1) / 2) * total);
        for (std::size_t i = 0; i < size; ++i) {
          if (weights[i] == 0) REQUIRE(b[i] == 0);
        }
      }
      // Halfway weights: the bound is met or nearly so.
      std::vector<std::uint32_t> halves(size, 2 * resolution * static_cast<std::uint32_t>(size) + 1);
      for (std::size_t i = 0; i < size / 2; ++i) halves[i] -= 2;
      const std::uint64_t total = std::accumulate(halves.begin(), halves.end(), std::uint64_t{0});
      REQUIRE(size * reference::scaled_l1(counts_of(halves, resolution), halves, resolution) <=
              2 * (size / 2) * ((size + 1) / 2) * total);
    }
  }
}

TEST_CASE("T11 sparse_lattice equals the printed rule in floating point where no tie decides") {
  std::mt19937_64 random(12);
  for (std::uint32_t trial = 0; trial < 4000; ++trial) {
    const std::size_t size = 1 + random() % 64;
    const std::uint32_t resolution = 1 + static_cast<std::uint32_t>(random() % 1000);
    const std::vector<std::uint32_t> weights = random_weights(random, size, trial % 2);
    const long double total = std::accumulate(weights.begin(), weights.end(), 0.0L);
    std::vector<long double> q;
    for (const std::uint32_t weight : weights) q.push_back(static_cast<long double>(weight) / total);
    const std::vector<std::int64_t> expected = reference::lattice(q, static_cast<std::int64_t>(resolution));
    const counts b = counts_of(weights, resolution);
    for (std::size_t i = 0; i < size; ++i) REQUIRE(static_cast<std::int64_t>(b[i]) == expected[i]);
  }
}

TEST_CASE("T11 sparse_lattice is the nearest lattice point (all of them tried)") {
  std::mt19937_64 random(13);
  for (std::uint32_t trial = 0; trial < 600; ++trial) {
    const std::size_t size = 1 + random() % 5;
    const std::uint32_t resolution = 1 + static_cast<std::uint32_t>(random() % 7);
    std::vector<std::uint32_t> weights(size);
    for (std::uint32_t& weight : weights) weight = static_cast<std::uint32_t>(random() % 40);
    weights[random() % size] += 1;
    const counts b = counts_of(weights, resolution);
    const std::uint64_t l1 = reference::scaled_l1(b, weights, resolution),
                        l2 = reference::scaled_l2(b, weights, resolution);
    bool nearest = true;
    reference::for_each_lattice_point(size, resolution, [&](const counts& other) {
      nearest = nearest && l1 <= reference::scaled_l1(other, weights, resolution) &&
                l2 <= reference::scaled_l2(other, weights, resolution);
    });
    REQUIRE(nearest);
  }
}

TEST_CASE("T30 E7 sparse_lattice leaves zeros, and at the edges: K = 1, K = V, l = 1, l < K") {
  CHECK(counts_of({1}, 1) == counts{1});
  CHECK(counts_of({1u << 31}, 1u << 16) == counts{1u << 16});
  CHECK(counts_of({3, 9, 9, 1}, 1) == counts{0, 1, 0, 0});
  const counts sparse = counts_of(std::vector<std::uint32_t>(1000, 5), 7);
  CHECK(sparse[6] == 1);
  CHECK(sparse[7] == 0);
  CHECK(std::accumulate(sparse.begin(), sparse.end(), 0u) == 7);
  // The largest vocabulary of the issue with the largest weights and resolution: 64 bits hold everything.
  const std::uint32_t vocab_size = 1u << 18;
  const counts wide = counts_of(std::vector<std::uint32_t>(vocab_size, 1u << 31), 1u << 16);
  CHECK(std::accumulate(wide.begin(), wide.end(), 0u) == 1u << 16);
  CHECK(wide[(1u << 16) - 1] == 1);
  CHECK(wide[1u << 16] == 0);
}

TEST_CASE("sparse_lattice keeps a lattice point and follows a permutation") {
  std::mt19937_64 random(14);
  for (std::uint32_t trial = 0; trial < 200; ++trial) {
    const std::size_t size = 1 + random() % 20;
    std::vector<std::uint32_t> weights = random_weights(random, size, 0);
    const counts b = counts_of(weights, 50);
    CHECK(counts_of(b, 50) == b);
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::uint32_t> shuffled(size);
    for (std::size_t i = 0; i < size; ++i) shuffled[i] = weights[order[i]];
    const counts moved = counts_of(shuffled, 50);
    for (std::size_t i = 0; i < size; ++i) CHECK(moved[i] == b[order[i]]);
  }
}

TEST_CASE("sparse_lattice refuses bad input and leaves the counts alone") {
  const counts untouched3(3, 77);
  const auto fails = [&](const outcome& out, errc code) {
    return out.why.code == code && out.counts == counts(out.counts.size(), 77);
  };
  CHECK(fails(quantize({1, 2, 3}, 0), errc::invalid_resolution));
  CHECK(fails(quantize({1, 2, 3}, (1u << 16) + 1), errc::invalid_resolution));
  CHECK(fails(quantize({0, 0, 0}, 4), errc::zero_weight));
  CHECK(fails(quantize({1, (1u << 31) + 1, 3}, 4), errc::weight_too_large));
  CHECK(quantize({1, (1u << 31) + 1, 3}, 4).why.where == 1);
  CHECK(fails(quantize({}, 4), errc::empty_support));

  const std::array<token_id, 3> ids{0, 1, 2};
  const std::array<std::uint32_t, 3> weights{1, 2, 3};
  counts b = untouched3;
  std::array<std::byte, 64> few{};
  workspace small{few};
  CHECK(sparse_lattice{}.quantize({ids, weights, 6, 3}, 4, b, small).error().code == errc::workspace_too_small);
  CHECK(small.used() == 0);
  std::vector<std::byte> bytes(sparse_lattice::workspace_size(3));
  workspace scratch{bytes};
  CHECK(sparse_lattice{}.quantize({std::span(ids).first(2), weights, 6, 3}, 4, b, scratch).error().code ==
        errc::size_mismatch);
  CHECK(sparse_lattice{}.quantize({ids, weights, 6, 3}, 4, std::span(b).first(2), scratch).error().code ==
        errc::output_too_small);
  CHECK(b == untouched3);
  static_assert(noexcept(sparse_lattice{}.quantize({}, 1, {}, scratch)));
}
