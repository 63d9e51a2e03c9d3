// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/views.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

using specverify::bfloat16_bits;
using specverify::float16_bits;
using specverify::row_kind;
using specverify::row_view;

TEST_CASE("a row view knows its kind, sizes and stride") {
  const std::array<float, 6> values{};
  const row_view<float> padded{row_kind::probabilities, values.data(), 3, 2, 2};
  CHECK(padded.kind() == row_kind::probabilities);
  CHECK(padded.size() == 3);
  CHECK(padded.valid_size() == 2);
  CHECK(padded.stride() == 2);
  CHECK_FALSE(padded.empty());
  CHECK(padded.has_data());
  CHECK(row_view<float>{row_kind::logits, values.data(), 3, 9}.valid_size() == 3);  // never beyond what is stored
}

TEST_CASE("no row") {
  constexpr row_view<double> none;
  static_assert(none.empty() && !none.has_data() && none.size() == 0 && none.kind() == row_kind::logits);
}

TEST_CASE("spans become rows") {
  const std::array<double, 4> values{1, 2, 3, 4};
  const auto logits = specverify::logits_row(std::span<const double>(values));
  CHECK(logits.kind() == row_kind::logits);
  CHECK(logits.size() == 4);
  CHECK(logits.valid_size() == 4);
  CHECK(logits.stride() == 1);
  CHECK(specverify::probability_row(std::span<const double>(values)).kind() == row_kind::probabilities);
}

TEST_CASE_TEMPLATE("a pointer and a size become a row", Scalar, float, double, float16_bits, bfloat16_bits) {
  const std::array<Scalar, 3> values{};
  const row_view<Scalar> logits = specverify::logits_row(values.data(), 3);
  CHECK(logits.kind() == row_kind::logits);
  CHECK(logits.has_data());
  CHECK(logits.size() == 3);
  CHECK(logits.valid_size() == 3);
  CHECK(logits.stride() == 1);
  const row_view<Scalar> law = specverify::probability_row(values.data(), values.size());
  CHECK(law.kind() == row_kind::probabilities);
  CHECK(law.size() == 3);
  CHECK(specverify::logits_row(static_cast<const Scalar*>(nullptr), 0).empty());
}

TEST_CASE("a size that rows cannot store is not cut to a smaller vocabulary") {
  const float value = 0;
  const auto beyond = static_cast<std::size_t>((std::uint64_t{1} << 32) + 5);  // 5 in 32 bits
  if (sizeof(std::size_t) == 4) return;                                        // no size is beyond
  CHECK(specverify::logits_row(&value, beyond).size() == std::numeric_limits<std::uint32_t>::max());
  CHECK(specverify::probability_row(std::span<const float>(&value, beyond)).size() > specverify::max_vocab_size);
  CHECK(specverify::logits_row(&value, 0xFFFFFFFEu).size() == 0xFFFFFFFEu);
}

TEST_CASE("the storage types of rows") {
  static_assert(sizeof(float16_bits) == 2 && sizeof(bfloat16_bits) == 2);
  static_assert(specverify::is_row_scalar<float> && specverify::is_row_scalar<double>);
  static_assert(specverify::is_row_scalar<float16_bits> && specverify::is_row_scalar<bfloat16_bits>);
  static_assert(!specverify::is_row_scalar<int>);
  static_assert(std::is_trivially_copyable_v<row_view<float>> && std::is_trivially_copyable_v<row_view<float16_bits>>);
  static_assert(std::is_same_v<specverify::token_id, std::int32_t> && specverify::no_token == -1 &&
                specverify::max_vocab_size == 16777216);
}
