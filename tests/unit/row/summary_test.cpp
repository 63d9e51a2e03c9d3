// SPDX-License-Identifier: Apache-2.0
#include <specverify/quantize/draft_law.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/summary.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_p.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

#include "row_cases.hpp"
#include "support/hard_rows.hpp"

using namespace row_cases;

namespace {

//! W by its definition.
template <class Scalar>
std::uint64_t total_of(row_view<Scalar> row, const row_transform& transform) {
  std::vector<std::uint32_t> weights(row.valid_size());
  return integer_weights(exec::seq, row, transform, weights).value();
}

//! The bounds of a reading hold W, at first and after each look, and end there.
template <class Policy, class Scalar>
void check_bounds(Policy policy, row_view<Scalar> row, const row_transform& transform, bool close) {
  const std::uint64_t total = total_of(row, transform);
  const auto from = make_digest(policy, row, transform, {.close_total = close});
  REQUIRE(from.outcome.ok());
  std::uint64_t width = ~std::uint64_t{0};
  for (int looks = 0;; ++looks) {
    const weight_bounds known = from->total_bounds();
    REQUIRE(known.least <= total);
    REQUIRE(total <= known.most);
    if (known.exact()) break;
    REQUIRE(looks < 3);
    CHECK(known.most - known.least < width);
    width = known.most - known.least;
    from->narrow_total();
  }
  CHECK(from->total_weight() == total);
}

//! p = 1/2 for one token, 0.4 for 40 more, the rest below a Gaussian.
std::vector<double> ordinary(std::uint32_t size, std::uint32_t seed) {
  std::vector<double> values = normal_logits(size, seed, 3.0);
  for (std::uint32_t i = 0; i < 41; ++i)
    values[(i * 2654435761u + seed) % size] = 4.5 + std::log(static_cast<double>(size)) + (i == 0 ? 2.3 : -1.6);
  return values;
}

struct kept {
  std::vector<token_id> ids{};
  std::vector<std::uint32_t> counts{};
  bool summed = false;
};

//! What a rule keeps of a row, by bounds of W or by W itself.
template <class Policy, class Rule>
kept keep(Policy policy, const std::vector<float>& row, const Rule& rule, bool exactly) {
  read_request wanted = rule.request({}, static_cast<std::uint32_t>(row.size()));
  wanted.integer_total = exactly;
  const auto from = make_digest(policy, logits(row), {}, wanted);
  std::vector<std::byte> memory(rule.workspace_size({}, static_cast<std::uint32_t>(row.size())));
  workspace scratch{std::span(memory)};
  const auto chosen = rule.select(from.reading.value(), {}, scratch);
  REQUIRE(chosen.ok());
  return {{chosen->ids.begin(), chosen->ids.end()}, {}, from->used_exact_total()};
}
//! The dense lattice point of a row.
template <class Policy>
kept point(Policy policy, const std::vector<float>& row, std::uint32_t resolution, bool exactly, bool sums = false) {
  const auto size = static_cast<std::uint32_t>(row.size());
  const draft_law_options options{law_format::dense_lattice, resolution};
  read_request wanted = draft_law_request(size, top_k{}, {}, options);
  wanted.integer_total = exactly;
  wanted.sums = sums;
  const auto from = make_digest(policy, logits(row), {}, wanted);
  std::vector<std::byte> memory(draft_law_workspace_size(size, top_k{}, {}, options));
  workspace scratch{std::span(memory)};
  const auto made = make_draft_law(from.reading.value(), top_k{}, {}, options, scratch);
  if (!made) return {};
  const law& drafted = made->drafted;
  return {{drafted.ids, drafted.ids + drafted.size},
          {drafted.counts, drafted.counts + drafted.size},
          from->used_exact_total()};
}

}  // namespace

TEST_CASE_TEMPLATE("summary: the bounds hold the total weight", Scalar, float, double, bfloat16_bits, float16_bits) {
  std::vector<std::uint64_t> mask(70, 0xFFFF0FFFFFFFFFF7u);
  const std::vector<token_id> bias_ids{3, 700, 4001};
  const std::vector<float> bias_values{2.5f, -4.0f, 0.25f};
  for (const std::uint32_t size : {1u, 17u, 1000u, 1024u, 4099u}) {
    for (std::uint32_t kind = 0; kind < hard_rows::kinds + 2; ++kind) {
      generator random{kind + 1 + size * 977};
      std::vector<double> values(size);
      for (std::uint32_t id = 0; id < size; ++id) {
        const auto normal = static_cast<float>(random.normal());
        values[id] = kind < hard_rows::kinds ? hard_rows::value_of(kind, id, size, normal) : 3.0 * normal + kind;
      }
      if (kind == 9 && size <= 16) continue;  // nothing is allowed
      const auto row = row_of<Scalar>(values);
      for (const double temperature : {0.05, 1.0, 7.0, 1e5}) {
        row_transform transform;
        transform.temperature = temperature;
        if (size == 4099 && kind >= hard_rows::kinds) {
          transform.mask_words = mask;
          transform.bias_ids = bias_ids;
          transform.bias_values = bias_values;
        }
        for_each_policy([&](auto policy) {
          check_bounds(policy, logits(row), transform, false);
          check_bounds(policy, logits(row), transform, true);
        });
      }
    }
  }
}

TEST_CASE("summary: the bounds hold the total weight of probabilities") {
  for (const std::uint32_t size : {1u, 5u, 3000u}) {
    std::vector<double> law(size);
    double sum = 0;
    generator random{size};
    for (double& mass : law) sum += mass = random.uniform() * random.uniform();
    for (double& mass : law) mass /= sum;
    for_each_policy([&](auto policy) {
      check_bounds(policy, probabilities(law), {}, false);
      check_bounds(policy, probabilities(row_of<float>(law)), {}, true);
    });
  }
}

TEST_CASE("summary: weights that are all rounded the same way stay within the bounds") {
  constexpr std::uint32_t size = 131072;
  for (const double part : {0.499, 0.501, 1.499, 1.501}) {  // of 2^-31 of the largest weight
    std::vector<float> row(size, static_cast<float>(std::log(part * 0x1p-31)));
    row[size / 3] = 0;
    for_each_policy([&](auto policy) { check_bounds(policy, logits(row), {}, true); });
  }
}

TEST_CASE("summary: close bounds are for exec::simd and logits of float; elsewhere asking for them changes nothing") {
  const auto check = [](auto policy, auto row) {
    const auto plain = make_digest(policy, row, {}), asked = make_digest(policy, row, {}, {.close_total = true});
    CHECK(plain->total_bounds().least == asked->total_bounds().least);
    CHECK(plain->total_bounds().most == asked->total_bounds().most);
    CHECK_FALSE(plain->total_bounds().exact());
  };
  const auto values = normal_logits(4096, 3);
  const auto narrow = row_of<float>(values);
  check(exec::seq, logits(narrow));
  check(exec::simd, logits(values));
  const std::vector<float> law(4096, 0x1p-12f);
  check(exec::simd, probabilities(law));
}

#if SPECVERIFY_WITH_SIMD
TEST_CASE_TEMPLATE("summary: every look is closer: 1e-4, 2e-5, W", Scalar, float, bfloat16_bits, float16_bits) {
  for (const double temperature : {0.7, 1.0, 1.6}) {
    for (std::uint32_t seed = 0; seed < 3; ++seed) {
      const auto row = row_of<Scalar>(ordinary(128256, seed));
      row_transform transform;
      transform.temperature = temperature;
      const auto from = make_digest(exec::simd, logits(row), transform, {.sums = false});
      const auto total = static_cast<double>(total_of(logits(row), transform));
      for (const double width : {1e-4, 2e-5}) {
        from->narrow_total();
        const weight_bounds known = from->total_bounds();
        const bool holds_the_total =
            static_cast<double>(known.least) <= total && total <= static_cast<double>(known.most);
        CHECK(holds_the_total);
        CHECK_FALSE(known.exact());
        CHECK(static_cast<double>(known.most - known.least) < width * total);
      }
      CHECK_FALSE(from->used_exact_total());
      from->narrow_total();
      CHECK((from->total_bounds().exact() && from->used_exact_total()));
    }
  }
}

TEST_CASE("summary: weights that hang on the last bit of their logits stay within the bounds") {
  constexpr std::uint32_t size = 131072;
  for (const double part : {0.5, 1.5, 7.5}) {  // of 2^-31 of the largest weight
    auto value = static_cast<float>(std::log(part * 0x1p-31));
    for (int step = 0; step < 4; ++step) value = std::nextafter(value, -100.0f);
    for (int step = -4; step <= 4; ++step) {
      std::vector<float> row(size, value);
      row[size / 3] = 0;
      check_bounds(exec::simd, logits(row), {}, true);
      value = std::nextafter(value, 0.0f);
    }
  }
}

TEST_CASE("summary: bounds that were asked for are close") {
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    const auto row = row_of<float>(ordinary(128256, seed));
    const auto from = make_digest(exec::simd, logits(row), {}, {.close_total = true});
    const weight_bounds known = from->total_bounds();
    const double total = static_cast<double>(from->total_weight());
    CHECK_FALSE(known.exact());
    CHECK(static_cast<double>(known.most - known.least) < 1e-4 * total);
    // A sum in float is in the middle, and much better than it promises.
    const double off = static_cast<double>(known.least) + static_cast<double>(known.most) - 2 * total;
    CHECK(std::fabs(off) < 4e-6 * total);
  }
}
#endif

TEST_CASE("summary: decisions by bounds are those of the total weight, which they hardly ever need") {
  const char* const whole = std::getenv("SPECVERIFY_LONG");
  const bool emulated = std::getenv("SPECVERIFY_EMULATED") != nullptr;
  const std::uint32_t rows = whole != nullptr && *whole == '1' ? 240 : (emulated ? 4 : 24);
  std::uint32_t decisions = 0, summed = 0;
  for (std::uint32_t seed = 0; seed < rows; ++seed) {
    const auto row = row_of<float>(ordinary(128256, seed));
    const auto count = [&](const kept& by_bounds, const kept& decide_by_total) {
      CHECK(by_bounds.ids == decide_by_total.ids);
      CHECK(by_bounds.counts == decide_by_total.counts);
      ++decisions;
      summed += by_bounds.summed ? 1u : 0u;
    };
    for (const double beta : {0.01, 0.001})
      count(keep(exec::simd, row, threshold{beta, 64}, false), keep(exec::simd, row, threshold{beta, 64}, true));
    count(keep(exec::simd, row, threshold{0.002, 128256}, false), keep(exec::seq, row, threshold{0.002, 128256}, true));
    count(keep(exec::simd, row, top_p{0.9, 1024}, false), keep(exec::simd, row, top_p{0.9, 1024}, true));
    for (const std::uint32_t resolution : {100u, 240u})
      count(point(exec::simd, row, resolution, false), point(exec::simd, row, resolution, true));
  }
  MESSAGE(summed << " of " << decisions << " decisions needed W itself");
#if SPECVERIFY_WITH_SIMD
  CHECK(summed * 50 < decisions);
#endif
}

TEST_CASE("summary: where bounds leave a decision open, the total weight decides") {
  constexpr std::uint32_t size = 20000;
  const auto row = row_of<float>(normal_logits(size, 11, 2.0));
  std::vector<std::uint32_t> weights(size);
  const std::uint64_t total = integer_weights(exec::seq, logits(row), {}, weights).value();
  std::vector<std::uint32_t> order = weights;
  std::sort(order.begin(), order.end(), std::greater<>());
  for (const std::size_t rank : {std::size_t{3}, std::size_t{20}, std::size_t{63}}) {
    for (const double nudge : {-1e-9, 1e-9}) {  // keeps the entry of this rank, or does not
      const double share = static_cast<double>(order[rank]) / static_cast<double>(total);
      const double roundings = 1 + 0.5 * std::floor(share * size);  // of the weight and of its share of the total
      const double beta = (static_cast<double>(order[rank]) + roundings) / static_cast<double>(total) * (1 + nudge);
      std::vector<token_id> expected;
      for (std::uint32_t id = 0; id < size; ++id) {
        if (static_cast<double>(weights[id]) + roundings >= beta * static_cast<double>(total))
          expected.push_back(static_cast<token_id>(id));
      }
      REQUIRE(expected.size() == rank + (nudge < 0 ? 1 : 0));
      for_each_policy([&](auto policy) {
        const auto from = make_digest(policy, logits(row), {}, {.minimum_probability = beta});  // as the row is read
        const auto listed = from->top_ids();
        CHECK(std::vector<token_id>(listed.begin(), listed.end()) == expected);
        CHECK(from->used_exact_total());
        CHECK(keep(policy, row, threshold{beta, size}, false).ids == expected);
        const kept capped = keep(policy, row, threshold{beta, 100}, false);  // decided by the rule
        CHECK(capped.ids == expected);
        CHECK(capped.summed);
      });
    }
  }
}

TEST_CASE("summary: equal logits of which too few could be listed at the least total weight have a lattice point") {
  for (const std::uint32_t size : {200u, 201u, 205u, 211u, 400u}) {
    const std::vector<float> row(size, 1.0f);
    for_each_policy([&](auto policy) {
      const kept by_bounds = point(policy, row, 100, false, true), by_total = point(policy, row, 100, true);
      CHECK(by_bounds.ids == by_total.ids);
      CHECK(by_bounds.counts == by_total.counts);
    });
  }
}

#ifndef __FAST_MATH__  // where such probabilities are 0
TEST_CASE("NUM-3 summary: a mask that leaves only probabilities below the normal floats") {
  for (const std::uint32_t size : {64u, 2000u}) {
    std::vector<float> law(size, 1e-42f);
    law[0] = 1.0f;  // masked
    law[5] = 1.1e-42f;
    law[6] = 1e-44f;
    std::vector<std::uint64_t> mask(size / 64 + 1, ~std::uint64_t{0});
    mask[0] ^= 1u;
    row_transform transform;
    transform.mask_words = mask;
    for_each_policy([&](auto policy) {
      check_bounds(policy, probabilities(law), transform, false);
      const auto row = probabilities(law);
      const auto exact = make_digest(policy, row, transform, {.integer_total = true, .exact_normaliser = true});
      const auto from = make_digest(policy, row, transform, {.top_entries = 64, .minimum_probability = 1e-4});
      CHECK(from->top_ids().size() >= 63);
      for (const double uniform : {0.001, 0.5, 0.9}) {
        const drafted_token drafted{5, 60, 6000};
        CHECK(from->accept(drafted, uniform)->accepted == exact->accept(drafted, uniform)->accepted);
      }
    });
  }
}
#endif

TEST_CASE("summary: what a support says of the total weight does not hang on how it was decided") {
  const auto row = row_of<float>(normal_logits(3000, 5));
  for_each_policy([&](auto policy) {
    const auto asked = make_digest(policy, logits(row), {}, {.top_entries = 9, .integer_total = true});
    CHECK(asked->support_total() == total_of(logits(row), {}));
    CHECK_FALSE(asked->used_exact_total());
    const auto from = make_digest(policy, logits(row), {}, {.top_entries = 9});
    CHECK(from->support_total() == 0);
    CHECK(from->total_weight() == asked->total_weight());
    CHECK(from->used_exact_total());
    CHECK(from->support_total() == 0);
    const auto all = make_digest(policy, logits(row), {}, {.top_entries = 3000});
    CHECK(all->support_total() == asked->total_weight());
    CHECK(all->total_bounds().exact());
    CHECK_FALSE(all->used_exact_total());
  });
}

TEST_CASE("summary: one-hot, truncated and expired readings know their total weight") {
  const auto row = row_of<float>(normal_logits(3000, 6));
  for_each_policy([&](auto policy) {
    row_transform transform;
    transform.temperature = 0;
    CHECK(make_digest(policy, logits(row), transform)->total_weight() == 2147483648u);
    transform.temperature = 1;
    transform.truncation.top_k = 5;
    const auto cut = make_digest(policy, logits(row), transform, {.top_entries = 5});
    std::uint64_t sum = 0;
    for (const std::uint32_t weight : cut->top_weights()) sum += weight;
    CHECK(cut->total_weight() == sum);
    auto gone = make_digest(policy, logits(row), {});
    gone.space.rewind(0);
    CHECK(gone->total_weight() == 0);
    CHECK(gone->total_bounds().most == 0);
    gone->narrow_total();  // nothing to narrow
    CHECK(gone->decide_by_total([](std::uint64_t total) { return total; }) == 0);
  });
}
