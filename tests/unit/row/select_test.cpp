// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/select.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

std::vector<token_id> listed(const selection& chosen) { return {chosen.ids.begin(), chosen.ids.end()}; }

}  // namespace

TEST_CASE("row.select_top_k: by hand, ids ascending, ties to the smaller id") {
  const std::vector<float> row{1.0f, 4.0f, 2.0f, 4.0f, 3.0f, 2.0f};
  digest_request request;
  request.survivors = 6;
  request.integer_total = true;
  for_each_policy([&](auto policy) {
    const held_digest from = make_digest(policy, logits(row), {}, request);
    const auto top = [&](std::uint32_t k) {
      selection chosen;
      REQUIRE(select_top_k(policy, from.value, from.space, k, chosen).ok());
      CHECK(chosen.total_weight == from.value.total_weight);
      CHECK(chosen.weights.size() == chosen.ids.size());
      return listed(chosen);
    };
    CHECK(top(1) == std::vector<token_id>{1});
    CHECK(top(2) == std::vector<token_id>{1, 3});
    CHECK(top(3) == std::vector<token_id>{1, 3, 4});
    CHECK(top(4) == std::vector<token_id>{1, 2, 3, 4});
    CHECK(top(6) == std::vector<token_id>{0, 1, 2, 3, 4, 5});
    CHECK(top(1000) == std::vector<token_id>{0, 1, 2, 3, 4, 5});
  });
}

TEST_CASE("NUM-8 row.select_top_k: k of more survivors, against a sort; exactly k with heavy ties") {
  std::vector<double> values = normal_logits(9000, 3, 2.0);
  for (double& value : values) value = std::floor(4 * value) / 4;
  const auto row = row_of<float>(values);
  std::vector<token_id> order(9000);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](token_id a, token_id b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  digest_request request;
  request.survivors = 500;
  const held_digest from = make_digest(exec::simd, logits(row), {}, request);
  for (const std::uint32_t k : {1u, 7u, 64u, 65u, 499u, 500u}) {
    selection chosen;
    REQUIRE(select_top_k(exec::simd, from.value, from.space, k, chosen).ok());
    std::vector<token_id> expected(order.begin(), order.begin() + k);
    std::sort(expected.begin(), expected.end());
    CHECK(listed(chosen) == expected);
  }
}

TEST_CASE("row.select_threshold: by hand, never empty, all of positive weight at zero") {
  const std::vector<double> law{0.5, 0.25, 0.125, 0.0625, 0.0625, 0.0};
  digest_request request;
  request.survivors = 6;
  request.integer_total = true;
  const held_digest from = make_digest(exec::seq, probabilities(law), {}, request);
  const auto above = [&](double beta) {
    selection chosen;
    REQUIRE(select_threshold(exec::seq, from.value, from.space, beta, chosen).ok());
    return listed(chosen);
  };
  CHECK(above(0.6) == std::vector<token_id>{0});
  CHECK(above(2.0) == std::vector<token_id>{0});
  CHECK(above(0.5) == std::vector<token_id>{0});
  CHECK(above(0.25) == std::vector<token_id>{0, 1});
  CHECK(above(0.0625) == std::vector<token_id>{0, 1, 2, 3, 4});
  CHECK(above(0.0) == std::vector<token_id>{0, 1, 2, 3, 4});
  CHECK(above(-3.0) == std::vector<token_id>{0, 1, 2, 3, 4});
}

TEST_CASE("row.select_threshold: what a minimum probability gathered is enough from there on, not below") {
  const auto row = row_of<float>(normal_logits(20000, 4, 2.0));
  const auto law = law_of(transformed(row, {}), 1.0);
  digest_request request;
  request.minimum_probability = 0.001;
  const held_digest from = make_digest(exec::simd, logits(row), {}, request);
  for (const double beta : {0.001, 0.002, 0.01}) {
    std::vector<token_id> expected;
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (law[i] >= static_cast<long double>(beta)) expected.push_back(static_cast<token_id>(i));
    }
    selection chosen;
    REQUIRE(select_threshold(exec::simd, from.value, from.space, beta, chosen).ok());
    CHECK(listed(chosen) == expected);
  }
  selection chosen;
  chosen.total_weight = 99;
  CHECK(select_threshold(exec::simd, from.value, from.space, 0.00001, chosen).code == errc::digest_insufficient);
  CHECK(select_threshold(exec::simd, from.value, from.space, nan_value(), chosen).code == errc::invalid_argument);
  CHECK(chosen.total_weight == 99);
}

TEST_CASE("row.select: a digest is never asked for more than it gathered") {
  const auto row = row_of<float>(normal_logits(500, 4, 1.0));
  digest_request request;
  request.survivors = 10;
  const held_digest from = make_digest(exec::seq, logits(row), {}, request);
  selection chosen;
  CHECK(select_top_k(exec::seq, from.value, from.space, 10, chosen).ok());
  CHECK(select_top_k(exec::seq, from.value, from.space, 11, chosen).code == errc::digest_insufficient);
  CHECK(select_top_k(exec::seq, from.value, from.space, 0, chosen).code == errc::invalid_argument);
  // W was not asked for
  CHECK(select_threshold(exec::seq, from.value, from.space, 0.5, chosen).code == errc::digest_insufficient);
  const held_digest bare = make_digest(exec::seq, logits(row), {});
  CHECK(select_top_k(exec::seq, bare.value, bare.space, 1, chosen).code == errc::digest_insufficient);
}

TEST_CASE("T30 row.select: one-hot and truncated digests") {
  const std::vector<float> row{1.0f, 4.0f, 2.0f, 4.0f};
  digest_request request;
  request.survivors = 3;
  request.integer_total = true;
  row_transform transform;
  transform.temperature = 0;
  selection chosen;
  const held_digest greedy = make_digest(exec::simd, logits(row), transform, request);
  REQUIRE(select_top_k(exec::simd, greedy.value, greedy.space, 3, chosen).ok());
  CHECK(listed(chosen) == std::vector<token_id>{1});
  CHECK(chosen.total_weight == 2147483648u);
  transform.temperature = 1;
  transform.truncation.top_k = 2;
  const held_digest cut = make_digest(exec::simd, logits(row), transform, request);
  REQUIRE(select_top_k(exec::simd, cut.value, cut.space, 3, chosen).ok());
  CHECK(listed(chosen) == std::vector<token_id>{1, 3});
  CHECK(chosen.total_weight == 2 * 2147483648ull);
  static_assert(noexcept(select_top_k(exec::simd, cut.value, cut.space, 3, chosen)));
  static_assert(noexcept(select_threshold(exec::simd, cut.value, cut.space, 0.5, chosen)));
}
