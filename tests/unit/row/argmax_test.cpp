// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/argmax.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

TEST_CASE("row.argmax: by hand, ties go to the smaller id") {
  const std::vector<float> row{1.0f, 3.0f, 2.0f, 3.0f};
  for_each_policy([&](auto policy) {
    argmax_result out;
    REQUIRE(take(out, argmax(policy, logits(row), {})).ok());
    CHECK(out.token == 1);
    CHECK(out.margin == 0.0);
    CHECK(out.near_tie);
    REQUIRE(take(out, argmax(policy, logits(std::vector<float>{-0.0f, 0.0f}), {})).ok());
    CHECK(out.token == 0);
    REQUIRE(take(out, argmax(policy, logits(std::vector<float>{-3.0f}), {})).ok());
    CHECK(out.token == 0);
    CHECK(out.margin == infinity);
    CHECK_FALSE(out.near_tie);
  });
}

TEST_CASE("NUM-7 row.argmax: every size and place, every type; margin to the runner-up") {
  for (const std::uint32_t size : {1u, 2u, 15u, 16u, 17u, 31u, 1023u, 1024u, 1025u, 8193u, 10000u}) {
    for (const std::uint32_t at : {0u, size / 3, size - 1}) {
      std::vector<double> values = normal_logits(size, size + at, 1.0);
      values[at] = 12.0;
      if (size > 1) values[(at + size / 2 + 1) % size] = at == (at + size / 2 + 1) % size ? 12.0 : 11.5;
      for_each_policy([&](auto policy) {
        const auto check = [&](const auto& row) {
          argmax_result out;
          REQUIRE(take(out, argmax(policy, logits(row), {})).ok());
          CHECK(out.token == static_cast<token_id>(at));
          if (size > 2) CHECK(out.margin == 0.5);
        };
        check(values);
        check(row_of<float>(values));
        check(row_of<float16_bits>(values));
        check(row_of<bfloat16_bits>(values));
      });
    }
  }
}

TEST_CASE("row.argmax: bias, mask and padding count; probabilities too") {
  const std::vector<float> row{1.0f, 2.0f, 3.0f, 9.0f};
  const row_view<float> padded(row_kind::logits, row.data(), 4, 3);
  const token_id ids[1] = {0};
  const float bias[1] = {5.0f};
  const std::uint64_t mask[1] = {0b110};
  for_each_policy([&](auto policy) {
    argmax_result out;
    REQUIRE(take(out, argmax(policy, padded, {})).ok());
    CHECK(out.token == 2);
    row_transform transform;
    transform.bias_ids = ids;
    transform.bias_values = bias;
    REQUIRE(take(out, argmax(policy, padded, transform)).ok());
    CHECK(out.token == 0);
    CHECK(out.margin == 3.0);
    transform.mask_words = mask;
    REQUIRE(take(out, argmax(policy, padded, transform)).ok());
    CHECK(out.token == 2);
    REQUIRE(take(out, argmax(policy, probabilities(std::vector<double>{0.2, 0.5, 0.3}), {})).ok());
    CHECK(out.token == 1);
  });
}

TEST_CASE("COR-12 row.argmax: near ties are told by a relative 2^-20") {
  argmax_result out;
  REQUIRE(take(out, argmax(exec::simd, logits(std::vector<double>{100.0, 100.0 * (1 - 0x1.0p-21)}), {})).ok());
  CHECK(out.near_tie);
  REQUIRE(take(out, argmax(exec::simd, logits(std::vector<double>{100.0, 100.0 * (1 - 0x1.0p-19)}), {})).ok());
  CHECK_FALSE(out.near_tie);
}

TEST_CASE("T28 row.argmax: bad rows give a status and leave the output alone") {
  for_each_policy([&](auto policy) {
    argmax_result out{42, true, 1.5};
    CHECK(take(out, argmax(policy, logits(std::vector<float>{1.0f, nanf("")}), {})) ==
          status{errc::row_has_nan, part::row, 1});
    CHECK(take(out, argmax(policy, logits(std::vector<double>{infinity, 1.0}), {})).code ==
          errc::row_has_positive_infinity);
    CHECK(take(out, argmax(policy, logits(std::vector<double>{-infinity, -infinity}), {})).code == errc::row_is_empty);
    CHECK(take(out, argmax(policy, row_view<float>{}, {})).code == errc::empty_vocabulary);
    CHECK((out.token == 42 && out.near_tie && out.margin == 1.5));
    static_assert(noexcept(take(out, argmax(policy, row_view<float>{}, row_transform{}))));
  });
}
