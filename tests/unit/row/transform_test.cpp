// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/argmax.hpp>
#include <specverify/row/softmax.hpp>
#include <specverify/row/transform.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

TEST_CASE("row.transform: the default changes nothing; activity and greediness") {
  constexpr row_transform plain;
  static_assert(!plain.truncation.active());
  static_assert(!plain.greedy());
  static_assert(std::is_trivially_copyable_v<row_transform>);
  row_transform transform;
  transform.temperature = 1e-6;
  CHECK_FALSE(transform.greedy());
  transform.temperature = 0.9e-6;
  CHECK(transform.greedy());
  CHECK(row_truncation{1, 1.0, 0.0}.active());
  CHECK(row_truncation{0, 0.9, 0.0}.active());
  CHECK(row_truncation{0, 1.0, 0.1}.active());
}

TEST_CASE("SMP-2 SMP-6 row.transform: bias, then mask, then temperature, then the sum; every policy and type alike") {
  const std::vector<double> values{1.0, 2.0, 3.0, 4.0, -1.0};
  const token_id ids[3] = {0, 3, 4};
  const float bias[3] = {2.5f, -std::numeric_limits<float>::infinity(), 0.5f};
  const std::uint64_t mask[1] = {0b11011};
  row_transform transform;
  transform.temperature = 2.0;
  transform.bias_ids = ids;
  transform.bias_values = bias;
  transform.mask_words = mask;
  const auto law = law_of({3.5, 2.0, -infinity, -infinity, -0.5}, 2.0);
  const auto check = [&](const auto& row) {
    for_each_policy([&](auto policy) {
      std::vector<double> out(5);
      REQUIRE(softmax(policy, logits(row), transform, std::span<double>(out)).ok());
      CHECK(total_variation(out, law) < 1e-15);
      argmax_result best;
      REQUIRE(take(best, argmax(policy, logits(row), transform)).ok());
      CHECK(best.token == 0);
    });
  };
  check(values);
  check(row_of<float>(values));
  check(row_of<float16_bits>(values));
  check(row_of<bfloat16_bits>(values));
}

TEST_CASE("row.transform: a bias that overflows to +infinity is an error, one on a padded id is not looked at") {
  const std::vector<float> row{3e38f, 1.0f, 2.0f, 0.0f};
  const token_id first[1] = {0}, padded[1] = {3};
  const float bias[1] = {3e38f};
  row_transform transform;
  transform.bias_values = bias;
  transform.bias_ids = first;
  CHECK(make_digest(exec::simd, logits(row), transform).outcome.code == errc::row_has_positive_infinity);
  transform.bias_ids = padded;
  const row_view<float> view(row_kind::logits, row.data() + 0, 4, 3);
  CHECK(make_digest(exec::simd, view, transform).outcome.ok());
  CHECK(make_digest(exec::simd, view, transform).value.argmax == 0);
}

TEST_CASE("SMP-3 row.transform: the truncation order matters where it should") {
  const std::vector<double> law{0.4, 0.3, 0.2, 0.1};
  row_transform transform;
  transform.truncation = {2, 0.5, 0.0, truncation_order::joint};
  const auto kept = [&](truncation_order order) {
    transform.truncation.order = order;
    return make_digest(exec::seq, probabilities(law), transform).value.kept_ids.count;
  };
  CHECK(kept(truncation_order::joint) == 2);  // 0.4 < 0.5
  CHECK(kept(truncation_order::top_p_then_top_k) == 2);
  CHECK(kept(truncation_order::top_k_then_top_p) == 1);  // 0.4 / 0.7 >= 0.5
}
