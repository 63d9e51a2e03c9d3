// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/min_p.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/top_p.hpp>

#include <doctest/doctest.h>

#include "unit/row/row_cases.hpp"

using namespace row_cases;

namespace {

struct kept {
  status why{};
  std::vector<token_id> ids{};
  std::vector<std::uint32_t> weights{};
  std::uint64_t total_weight = 0;
};

// What a sparsifier keeps of a row that was read.
template <class Sparsifier, class Held>
kept keep(const Sparsifier& sparsifier, const Held& from) {
  std::vector<std::byte> memory(sparsifier.workspace_size({}, from.value.valid_size));
  workspace scratch{std::span<std::byte>(memory)};
  const auto chosen = sparsifier.select(from.reading.value(), {}, scratch);
  kept out;
  out.why = chosen.error();
  if (!chosen) return out;
  out.ids.assign(chosen->ids.begin(), chosen->ids.end());
  out.weights.assign(chosen->weights.begin(), chosen->weights.end());
  out.total_weight = chosen->total_weight;
  return out;
}

}  // namespace

TEST_CASE("top_k of a row: by hand, ids ascending, ties to the smaller id") {
  const std::vector<float> row{1.0f, 4.0f, 2.0f, 4.0f, 3.0f, 2.0f};
  read_request request;
  request.top_entries = 6;
  request.integer_total = true;
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, logits(row), {}, request);
    const auto top = [&](std::uint32_t k) {
      const kept chosen = keep(top_k{k}, from);
      REQUIRE(chosen.why.ok());
      CHECK(chosen.total_weight == from.value.total_weight);
      CHECK(chosen.weights.size() == chosen.ids.size());
      return chosen.ids;
    };
    CHECK(top(1) == std::vector<token_id>{1});
    CHECK(top(2) == std::vector<token_id>{1, 3});
    CHECK(top(3) == std::vector<token_id>{1, 3, 4});
    CHECK(top(4) == std::vector<token_id>{1, 2, 3, 4});
    CHECK(top(6) == std::vector<token_id>{0, 1, 2, 3, 4, 5});
    CHECK(top(1000) == std::vector<token_id>{0, 1, 2, 3, 4, 5});
  });
}

TEST_CASE("NUM-8 top_k of a row: k of more top_entries, against a sort; exactly k with heavy ties") {
  std::vector<double> values = normal_logits(9000, 3, 2.0);
  for (double& value : values) value = std::floor(4 * value) / 4;
  const auto row = row_of<float>(values);
  std::vector<token_id> order(9000);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](token_id a, token_id b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  read_request request;
  request.top_entries = 500;
  const auto from = make_digest(exec::simd, logits(row), {}, request);
  for (const std::uint32_t k : {1u, 7u, 64u, 65u, 499u, 500u}) {
    const kept chosen = keep(top_k{k}, from);
    REQUIRE(chosen.why.ok());
    std::vector<token_id> expected(order.begin(), order.begin() + k);
    std::sort(expected.begin(), expected.end());
    CHECK(chosen.ids == expected);
  }
}

TEST_CASE("threshold of a row: by hand, never empty, all of positive weight at zero") {
  const std::vector<double> law{0.5, 0.25, 0.125, 0.0625, 0.0625, 0.0};
  read_request request;
  request.top_entries = 6;
  request.integer_total = true;
  const auto from = make_digest(exec::seq, probabilities(law), {}, request);
  const auto above = [&](double beta) {
    const kept chosen = keep(threshold{beta, 20000}, from);
    REQUIRE(chosen.why.ok());
    return chosen.ids;
  };
  CHECK(above(0.6) == std::vector<token_id>{0});
  CHECK(above(2.0) == std::vector<token_id>{0});
  CHECK(above(0.5) == std::vector<token_id>{0});
  CHECK(above(0.25) == std::vector<token_id>{0, 1});
  CHECK(above(0.0625) == std::vector<token_id>{0, 1, 2, 3, 4});
  CHECK(above(0.0) == std::vector<token_id>{0, 1, 2, 3, 4});
  CHECK(above(-3.0) == std::vector<token_id>{0, 1, 2, 3, 4});
}

TEST_CASE("threshold of a row: what a minimum probability gathered is enough from there on, not below") {
  const auto row = row_of<float>(normal_logits(20000, 4, 2.0));
  const auto law = law_of(transformed(row, {}), 1.0);
  read_request request;
  request.minimum_probability = 0.001;
  const auto from = make_digest(exec::simd, logits(row), {}, request);
  for (const double beta : {0.001, 0.002, 0.01}) {
    std::vector<token_id> expected;
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (law[i] >= static_cast<long double>(beta)) expected.push_back(static_cast<token_id>(i));
    }
    const kept chosen = keep(threshold{beta, 20000}, from);
    REQUIRE(chosen.why.ok());
    CHECK(chosen.ids == expected);
  }
  CHECK(keep(threshold{0.00001, 20000}, from).why.code == errc::digest_insufficient);
  CHECK(keep(threshold{nan_value(), 20000}, from).why.code == errc::invalid_argument);
  CHECK(keep(threshold{nan_value(), 20000}, from).total_weight == 0);
}

TEST_CASE("top_k and threshold of a row: a digest is never asked for more than it gathered") {
  const auto row = row_of<float>(normal_logits(500, 4, 1.0));
  read_request request;
  request.top_entries = 10;
  const auto from = make_digest(exec::seq, logits(row), {}, request);
  CHECK(keep(top_k{10}, from).why.ok());
  CHECK(keep(top_k{11}, from).why.code == errc::digest_insufficient);
  CHECK(keep(top_k{0}, from).why.code == errc::invalid_argument);
  // W was not asked for: the rule learns what it needs
  CHECK(keep(threshold{0.5, 500}, from).ids.size() == 1);
  CHECK(keep(threshold{1e-6, 500}, from).why.code == errc::digest_insufficient);
  const auto bare = make_digest(exec::seq, logits(row), {});
  CHECK(keep(top_k{1}, bare).why.code == errc::digest_insufficient);
}

TEST_CASE("T30 top_k and threshold of a row: one-hot and truncated digests") {
  const std::vector<float> row{1.0f, 4.0f, 2.0f, 4.0f};
  read_request request;
  request.top_entries = 3;
  request.integer_total = true;
  row_transform transform;
  transform.temperature = 0;
  const auto greedy = make_digest(exec::simd, logits(row), transform, request);
  const kept chosen = keep(top_k{3}, greedy);
  REQUIRE(chosen.why.ok());
  CHECK(chosen.ids == std::vector<token_id>{1});
  CHECK(chosen.total_weight == 2147483648u);
  transform.temperature = 1;
  transform.truncation.top_k = 2;
  const auto cut = make_digest(exec::simd, logits(row), transform, request);
  const kept left = keep(top_k{3}, cut);
  REQUIRE(left.why.ok());
  CHECK(left.ids == std::vector<token_id>{1, 3});
  CHECK(left.total_weight == 2 * 2147483648ull);
}

TEST_CASE("sparsifiers: a share that a law holds exactly is reached by its rounded weights") {
  const std::vector<double> law{0.5, 0.3, 0.1, 0.1}, other{0.5, 0.15, 0.35};
  for_each_policy([&](auto policy) {
    const read_request all{.top_entries = 4, .integer_total = true};
    const auto first = make_digest(policy, probabilities(law), {}, all);
    const auto second = make_digest(policy, probabilities(other), {}, all);
    CHECK(keep(top_p{0.8}, first).ids == std::vector<token_id>{0, 1});
    CHECK(keep(threshold{0.3, 4}, first).ids == std::vector<token_id>{0, 1});
    CHECK(keep(min_p{0.3}, second).ids == std::vector<token_id>{0, 1, 2});
    const auto above = make_digest(policy, probabilities(law), {}, {.minimum_probability = 0.3});
    CHECK(above->top_ids().size() == 2);
  });
}
