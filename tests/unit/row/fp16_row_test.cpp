// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/fp16_row.hpp>
#include <specverify/row/reading.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

//! 2^24 times the nearest fp16, by trying the two neighbours among all fp16 values of [0, 1].
std::uint32_t nearest_count(double probability) {
  static const std::vector<double> all = [] {
    std::vector<double> values;
    for (std::uint32_t bits = 0; bits <= 0x3C00u; ++bits)
      values.push_back(meaning(float16_bits{static_cast<std::uint16_t>(bits)}));
    return values;
  }();
  const auto above = static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), probability) - all.begin());
  if (above == 0) return 0;
  if (above == all.size()) return 1u << 24;
  const double up = all[above] - probability, down = probability - all[above - 1];
  // even bits end in an even mantissa
  const std::size_t chosen = up < down || (up == down && above % 2 == 0) ? above : above - 1;
  return static_cast<std::uint32_t>(std::ldexp(all[chosen], 24));
}

}  // namespace

TEST_CASE("row.fp16_row: every fp16 in [0, 1] is a count, and counts are fp16 values again") {
  for (std::uint32_t bits = 0; bits <= 0xFFFFu; ++bits) {
    const float16_bits half{static_cast<std::uint16_t>(bits)};
    const std::uint32_t count = count_of_half(half);
    if (bits > 0x3C00u) {
      CHECK(count == 0xFFFFFFFFu);
      continue;
    }
    CHECK(static_cast<double>(count) == std::ldexp(meaning(half), 24));
    CHECK(half_of_count(count).bits == bits);
    CHECK(half_count(meaning(half)) == count);
  }
}

TEST_CASE("row.fp16_row: round to nearest, ties to even, on midpoints and beside them") {
  for (std::uint32_t bits = 0; bits < 0x3C00u; ++bits) {
    const double a = meaning(float16_bits{static_cast<std::uint16_t>(bits)});
    const double b = meaning(float16_bits{static_cast<std::uint16_t>(bits + 1)});
    const double middle = (a + b) / 2;
    for (const double probability : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1.0)}) {
      const bool equal = half_count(probability) == nearest_count(probability);
      CHECK(equal);
      if (!equal) return;
    }
  }
  generator random{3};
  for (int i = 0; i < 20000; ++i) {
    const double probability = std::ldexp(random.uniform(), -static_cast<int>(random.below(30)));
    CHECK(half_count(probability) == nearest_count(probability));
  }
  CHECK(half_count(0x1.0p-25) == 0);
  CHECK(half_count(0x1.000002p-25) == 1);
  CHECK(half_count(4.9e-324) == 0);
}

TEST_CASE("row.fp16_row_counts: the counts of a row are those of its law; ids ascending; the sum is told") {
  const auto row = row_of<float>(normal_logits(5000, 12, 3.0));
  const auto law = law_of(transformed(row, {}), 1.0);
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, logits(row), {});
    std::vector<token_id> ids(5000);
    std::vector<std::uint32_t> counts(5000);
    const auto made = from->fp16_counts(ids, counts);
    REQUIRE(made.ok());
    const fp16_row out = *made;
    std::uint32_t at = 0;
    std::uint64_t sum = 0;
    for (std::size_t id = 0; id < law.size(); ++id) {
      const std::uint32_t expected = nearest_count(static_cast<double>(law[id]));
      sum += expected;
      if (expected == 0) continue;
      REQUIRE(at < out.size);
      CHECK(ids[at] == static_cast<token_id>(id));
      CHECK(counts[at] == expected);
      ++at;
    }
    CHECK(at == out.size);
    CHECK(out.resolution == sum);
    CHECK(std::fabs(out.resolution / 16777216.0 - 1) < 1e-3);
  });
}

TEST_CASE("row.fp16_row_counts: one-hot, truncated, too little space") {
  const std::vector<float> row{1.0f, 3.0f, 2.0f};
  row_transform transform;
  transform.temperature = 0;
  std::vector<token_id> ids(3);
  std::vector<std::uint32_t> counts(3);
  const auto greedy = make_digest(exec::seq, logits(row), transform);
  auto out = greedy->fp16_counts(ids, counts);
  REQUIRE(out.ok());
  CHECK((out->size == 1 && out->resolution == 16777216u && ids[0] == 1));
  transform.temperature = 1;
  transform.truncation.top_k = 2;
  const auto cut = make_digest(exec::seq, logits(row), transform);
  out = cut->fp16_counts(ids, counts);
  REQUIRE(out.ok());
  CHECK((out->size == 2 && ids[0] == 1 && ids[1] == 2));
  const auto full = make_digest(exec::seq, logits(row), {});
  const std::span<token_id> all_ids(ids);
  const std::span<std::uint32_t> all_counts(counts);
  CHECK(full->fp16_counts(all_ids.first(2), all_counts.first(2)).error() ==
        status{errc::support_too_large, part::row, 3});
  CHECK(full->fp16_counts(all_ids, all_counts.first(2)).error().code == errc::size_mismatch);
  CHECK(full->fp16_counts(all_ids, all_counts)->size == 3);
  static_assert(noexcept(full->fp16_counts(all_ids, all_counts)));
}
