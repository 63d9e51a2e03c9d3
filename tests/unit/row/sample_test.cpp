// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/row/sample.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

template <class Held, class Source>
sampled_token drawn_from(const Held& from, const Source& source, random_counter counter, std::uint32_t cap = 32) {
  const auto out = from->sample(uniform_stream{source, counter}, {.trial_cap = cap});
  REQUIRE(out.ok());
  return *out;
}

template <class Scalar>
void check_law(row_view<Scalar> row, const row_transform& transform, const std::vector<long double>& expected,
               double tolerance) {
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, row, transform);
    REQUIRE(from.outcome.ok());
    for (const std::uint32_t cap : {0u, 1u, 2u, 32u}) {
      const auto law = measure_law(row.valid_size(), cap, [&](const scripted& source, std::uint32_t trials) {
        const sampled_token got = drawn_from(from, source, {}, trials);
        return drawn{got.token, got.trials, false, got.exact};
      });
      CAPTURE(cap);
      CHECK(total_variation(law, expected) <= tolerance);
    }
  });
}

}  // namespace

TEST_CASE("row.sample: by hand, two equal logits split the uniform in halves") {
  const std::vector<float> row{1.0f, 1.0f};
  const auto from = make_digest(exec::seq, logits(row), {});
  const auto token = [&](std::uint64_t u1, std::uint32_t cap) {
    return drawn_from(from, scripted{{u1}, {0}}, {}, cap).token;
  };
  CHECK(token(0, 1) == 0);
  CHECK(token(unit / 2 - 1, 1) == 0);
  CHECK(token(unit / 2, 1) == 1);
  CHECK(token(unit - 1, 1) == 1);
  CHECK(token(unit / 2 - 1, 0) == 0);
  CHECK(token(unit / 2, 0) == 1);
  CHECK(token(unit - 1, 0) == 1);
}

TEST_CASE("T1 row.sample: the law of the shipped draw, every trial cap") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const double temperature : {0.3, 1.0, 2.5}) {
      const std::vector<double> values = normal_logits(6, seed);
      row_transform transform;
      transform.temperature = temperature;
      CAPTURE(seed);
      CAPTURE(temperature);
      check_law(logits(values), transform, law_of(values, temperature), 1e-12);
      const auto narrow = row_of<float>(values);
      check_law(logits(narrow), transform, law_of(transformed(narrow, transform), temperature), 1e-6);
      const auto brain = row_of<bfloat16_bits>(values);
      check_law(logits(brain), transform, law_of(transformed(brain, transform), temperature), 1e-6);
      const auto half = row_of<float16_bits>(values);
      check_law(logits(half), transform, law_of(transformed(half, transform), temperature), 1e-6);
    }
  }
}

TEST_CASE("T1 row.sample: rows of probabilities, with zeros and a mask") {
  const std::vector<double> values{0.25, 0.0, 0.5, 0.125, 0.125};
  check_law(probabilities(values), {}, {0.25L, 0.0L, 0.5L, 0.125L, 0.125L}, 1e-12);
  const std::uint64_t mask[1] = {0b11011};
  row_transform transform;
  transform.mask_words = mask;
  check_law(probabilities(values), transform, {0.5L, 0.0L, 0.0L, 0.25L, 0.25L}, 1e-12);
}

TEST_CASE("T1 row.sample: bias, mask and truncation change the law as they say") {
  const std::vector<double> values{1.0, 2.0, 0.5, -1.0, 2.0, 0.0};
  const token_id ids[2] = {0, 4};
  const float bias[2] = {1.5f, -0.25f};
  const std::uint64_t mask[1] = {0b110111};
  row_transform transform;
  transform.temperature = 0.7;
  transform.bias_ids = ids;
  transform.bias_values = bias;
  transform.mask_words = mask;
  check_law(logits(values), transform, law_of({2.5, 2.0, 0.5, -infinity, 1.75, 0.0}, 0.7), 1e-12);
  transform.truncation.top_k = 3;
  check_law(logits(values), transform, law_of({2.5, 2.0, -infinity, -infinity, 1.75, -infinity}, 0.7), 1e-12);
  transform.truncation.top_k = 0;
  transform.truncation.min_p = 0.4;  // e^(-0.75 / 0.7) = 0.34, e^(-0.5 / 0.7) = 0.49
  check_law(logits(values), transform, law_of({2.5, 2.0, -infinity, -infinity, -infinity, -infinity}, 0.7), 1e-12);
}

TEST_CASE("NUM-3 NUM-4 row.sample: forbidden ids never come, at the ends of every uniform") {
  std::vector<float> row(2100, -std::numeric_limits<float>::infinity());
  row[700] = 3.0f;
  row[2090] = 2.0f;
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, logits(row), {});
    REQUIRE(from.outcome.ok());
    for (const std::uint64_t u1 : {std::uint64_t{0}, std::uint64_t{1}, unit / 3, unit / 2, unit - 2, unit - 1}) {
      for (const std::uint64_t u2 : {std::uint64_t{0}, unit - 1}) {
        for (const std::uint32_t cap : {0u, 1u, 2u}) {
          const token_id token = drawn_from(from, scripted{{u1, u1, u1}, {u2, u2, u2}}, {}, cap).token;
          CHECK((token == 700 || token == 2090));
        }
      }
    }
  });
}

TEST_CASE("NUM-4 row.sample: the tail is hit, 20 nats below, V = 262144") {
  // one id at 0, the rest at -16 +- 4: the tail holds a few percent of the mass, and all of that must be reachable
  const std::uint32_t size = 262144;
  generator random{7};
  std::vector<float> row(size);
  for (float& value : row) value = static_cast<float>(-17.0 + 2.0 * random.uniform());
  row[12345] = 0.0f;
  const auto from = make_digest(exec::simd, logits(row), {});
  long double tail = 0;
  for (const float value : row) tail += std::exp(static_cast<long double>(value));
  const double expected = static_cast<double>((tail - 1) / tail);
  const std::uint32_t draws = 200000;
  std::uint32_t hits = 0, upper_half = 0;
  for (std::uint32_t i = 0; i < draws; ++i) {
    const token_id token = drawn_from(from, philox{{1, 2}}, {i, 0, 0, purpose::draft_draw, 0}).token;
    REQUIRE(token >= 0);
    REQUIRE(static_cast<std::uint32_t>(token) < size);
    hits += token != 12345 ? 1u : 0u;
    upper_half += token != 12345 && token >= 131072 ? 1u : 0u;
  }
  const double deviation = std::sqrt(draws * expected * (1 - expected));
  CHECK(std::fabs(hits - draws * expected) < 5 * deviation);
  CHECK(std::fabs(upper_half - hits / 2.0) < 5 * std::sqrt(hits / 4.0) + 1);
}

TEST_CASE("NUM-7 row.sample: odd vocabulary sizes, ids stay inside, padding is never read") {
  for (const std::uint32_t size : {1u, 2u, 31u, 1023u, 1025u, 8193u, 50257u}) {
    std::vector<float> row = row_of<float>(normal_logits(size, size));
    const std::uint32_t stored = size + 77;
    row.resize(stored, std::numeric_limits<float>::quiet_NaN());
    const row_view<float> view(row_kind::logits, row.data(), stored, size);
    for_each_policy([&](auto policy) {
      const auto from = make_digest(policy, view, {});
      REQUIRE(from.outcome.ok());
      for (std::uint32_t i = 0; i < 50; ++i) {
        const token_id token = drawn_from(from, philox{{3, 4}}, {i, 0, 0, purpose::bonus_draw, 0}, i % 3).token;
        CHECK((token >= 0 && static_cast<std::uint32_t>(token) < size));
      }
    });
  }
}

TEST_CASE("T33 row.sample: frequencies at five temperatures, and both policies draw the same tokens") {
  const std::vector<float> row = row_of<float>(normal_logits(3000, 5, 2.0));
  for (const double temperature : {0.2, 0.5, 1.0, 1.5, 3.0}) {
    row_transform transform;
    transform.temperature = temperature;
    const auto law = law_of(transformed(row, transform), temperature);
    const auto plain = make_digest(exec::seq, logits(row), transform);
    const auto wide = make_digest(exec::simd, logits(row), transform);
    std::vector<double> cells(17, 0.0), expected(17, 0.0);
    for (std::size_t id = 0; id < row.size(); ++id) expected[id % 17] += static_cast<double>(law[id]);
    const std::uint32_t draws = 40000;
    std::uint64_t trials = 0;
    for (std::uint32_t i = 0; i < draws; ++i) {
      const random_counter counter{i, 9, 0, purpose::draft_draw, 0};
      const sampled_token token = drawn_from(wide, philox{{11, 12}}, counter);
      if (i < 2000) CHECK(token.token == drawn_from(plain, philox{{11, 12}}, counter).token);
      cells[static_cast<std::size_t>(token.token) % 17] += 1;
      trials += token.trials;
    }
    double statistic = 0;
    for (int c = 0; c < 17; ++c) {
      const double mean = draws * expected[static_cast<std::size_t>(c)];
      statistic += (cells[static_cast<std::size_t>(c)] - mean) * (cells[static_cast<std::size_t>(c)] - mean) / mean;
    }
    CHECK(statistic < 52.0);  // 16 degrees of freedom, p = 1e-5
    CHECK(static_cast<double>(trials) / draws < 1.065);
  }
}

TEST_CASE("row.sample: temperature zero needs no random number; errors leave the output alone") {
  const std::vector<float> row{1.0f, 5.0f, 5.0f};
  row_transform greedy;
  greedy.temperature = 1e-7;
  const auto from = make_digest(exec::simd, logits(row), greedy);
  const sampled_token token = drawn_from(from, scripted{}, {});
  CHECK(token.token == 1);
  CHECK(token.trials == 0);
  CHECK_FALSE(token.exact);
  workspace rest = from.space;  // the same memory: rewinding it ends the reading
  rest.rewind(0);
  const auto lost = from->sample(uniforms<>{}.at(purpose::bonus_draw));
  CHECK(lost.error() == status{errc::reading_expired, part::row, 0});
  CHECK_FALSE(lost.ok());
  static_assert(noexcept(from->sample(uniforms<>{}.at(purpose::bonus_draw))));
}

TEST_CASE("T1 row.sample: one trial over a lane of many ids emits each in proportion to e_v, to 1e-11") {
  // Lanes here are float sums of 64 numbers: without the correction by their double sum the law would be off by 1e-7.
  const std::vector<double> row = normal_logits(1024, 31, 1.0);
  const auto from = make_digest(exec::seq, logits(row), {});
  const auto place = [](token_id id) { return id < 0 ? 0 : id % 16 * 64 + id / 16; };  // proposals go lane by lane
  const auto trial = [&](std::uint64_t u1, std::uint64_t u2) {
    const sampled_token got = drawn_from(from, scripted{{u1, 0}, {u2, 0}}, {}, 1);
    return got.exact ? no_token : got.token;
  };
  const auto first_at = [&](int wanted) {  // smallest u1 whose proposal stands at `wanted` or later
    std::uint64_t low = 0, high = unit;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (place(trial(middle, 0)) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  double smallest = 2, largest = 0;
  for (int lane = 0; lane < 16; lane += 5) {
    for (int at = 0; at < 64; at += 7) {
      const token_id id = at * 16 + lane;
      const std::uint64_t start = first_at(lane * 64 + at), stop = first_at(lane * 64 + at + 1);
      REQUIRE(trial(start, 0) == id);
      const std::uint64_t cut = next_change(0, [&](std::uint64_t u2) { return trial(start, u2); });
      const double emitted =
          std::ldexp(static_cast<double>(stop - start), -53) * std::ldexp(static_cast<double>(cut), -53);
      const double share =
          emitted * from.value.coarse_total / std::exp(row[static_cast<std::size_t>(id)] - from.value.reference);
      smallest = std::min(smallest, share);
      largest = std::max(largest, share);
    }
  }
  CHECK(largest / smallest - 1 < 1e-11);
  CHECK(largest <= 1.0);
  CHECK(smallest > 1 - 0x1.0p-14);
}
