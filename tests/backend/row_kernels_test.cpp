// SPDX-License-Identifier: Apache-2.0
// exec::seq and exec::simd over lengths x misalignments x tails, every type, strides, padding, bias and mask: bit-exact
// bit for bit.
#include <specverify/row/argmax.hpp>
#include <specverify/row/digest.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/sample.hpp>
#include <specverify/row/softmax.hpp>

#include <doctest/doctest.h>

#include "../unit/row/row_cases.hpp"
#include "support/hard_rows.hpp"

using namespace row_cases;

namespace {

const std::vector<std::uint32_t> sizes{1,  2,   3,   7,   8,    9,    15,   16,   17,   31,   33,   63,   64,
                                       65, 255, 256, 257, 1023, 1024, 1025, 2048, 4095, 4096, 4097, 5000, 8193};

template <class Element>
bool same(std::span<Element> a, std::span<Element> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

//! A read that leaves the sums out finds what one with sums finds, errors included, and answers as that one does.
template <class Policy, class Scalar>
void compare_without_sums(Policy policy, row_view<Scalar> row, const row_transform& transform, std::uint32_t wanted) {
  const auto with = make_digest(policy, row, transform, {.top_entries = wanted});
  const auto without = make_digest(policy, row, transform, {.top_entries = wanted, .sums = false});
  REQUIRE(with.outcome == without.outcome);
  if (!with.outcome.ok()) return;
  CHECK_FALSE((row.kind() == row_kind::logits && without->has_coarse_sums()));
  CHECK(with->argmax() == without->argmax());
  CHECK(with->maximum() == without->maximum());
  CHECK(with->top_complete() == without->top_complete());
  CHECK(same(with->top_ids(), without->top_ids()));
  CHECK(same(with->top_weights(), without->top_weights()));
  CHECK(with->total_weight() == without->total_weight());
  const weight_bounds known = without->total_bounds();
  CHECK(known.least == known.most);
  const auto stream = uniforms{philox{{wanted, 9}}, row.valid_size(), 1}.at(purpose::bonus_draw);
  const auto x = with->sample(stream), y = without->sample(stream);
  REQUIRE((x.ok() && y.ok()));
  CHECK((x->token == y->token && x->trials == y->trials && x->exact == y->exact));
  const auto a = with->accept({x->token, 1, 3}, stream), b = without->accept({x->token, 1, 3}, stream);
  CHECK((a->accepted == b->accepted && a->exact == b->exact));
  CHECK(*with->log_probability(x->token) == *without->log_probability(x->token));
#if !defined(__FAST_MATH__)
  CHECK(same(with.space.template at<float>(with.value.lane_sums),
             without.space.template at<float>(with.value.lane_sums)));
#endif
}

template <class Scalar>
void compare(row_view<Scalar> row, const row_transform& transform) {
  for_each_policy([&](auto policy) {
    compare_without_sums(policy, row, transform, 0);
    compare_without_sums(policy, row, transform, 40);
  });
  read_request request;
  request.top_entries = 40;
  request.minimum_probability = 0.01;
  request.exact_normaliser = true;
  const auto a = make_digest(exec::seq, row, transform, request);
  const auto b = make_digest(exec::simd, row, transform, request);
  REQUIRE(a.outcome == b.outcome);
  if (!a.outcome.ok()) return;
  CHECK(a.value.argmax == b.value.argmax);
  CHECK(a.value.maximum == b.value.maximum);
  CHECK(a.value.reference == b.value.reference);
  CHECK(a.value.total_weight == b.value.total_weight);
  CHECK(a.value.top_complete == b.value.top_complete);
  CHECK(same(a.space.template at<token_id>(a.value.top_ids), b.space.template at<token_id>(b.value.top_ids)));
  CHECK(same(a.space.template at<std::uint32_t>(a.value.top_weights),
             b.space.template at<std::uint32_t>(b.value.top_weights)));
#if defined(__FAST_MATH__)
  CHECK(a.value.coarse_total == doctest::Approx(b.value.coarse_total).epsilon(1e-5));
#else
  CHECK(same(a.space.template at<float>(a.value.lane_sums), b.space.template at<float>(b.value.lane_sums)));
  CHECK(same(a.space.template at<double>(a.value.block_sums), b.space.template at<double>(b.value.block_sums)));
  CHECK(a.value.coarse_total == b.value.coarse_total);
#endif
  CHECK(a.value.normaliser == doctest::Approx(b.value.normaliser).epsilon(1e-13));

  argmax_result first, second;
  REQUIRE(take(first, argmax(exec::seq, row, transform)).ok());
  REQUIRE(take(second, argmax(exec::simd, row, transform)).ok());
  CHECK((first.token == second.token && first.near_tie == second.near_tie));
  CHECK(std::memcmp(&first.margin, &second.margin, sizeof(double)) == 0);

  if (transform.truncation.active()) return;
  std::vector<std::uint32_t> u(row.valid_size()), v(row.valid_size());
  std::uint64_t total = 0, again = 0;
  REQUIRE(take(total, integer_weights(exec::seq, row, transform, std::span<std::uint32_t>(u))).ok());
  REQUIRE(take(again, integer_weights(exec::simd, row, transform, std::span<std::uint32_t>(v))).ok());
  CHECK(u == v);
  CHECK(total == again);
  if (transform.greedy()) return;
  CHECK(total == a->total_weight());
  CHECK(total == b->total_weight());
  double x = 0, y = 0;
  REQUIRE(take(x, log_sum_exp(exec::seq, row, transform)).ok());
  REQUIRE(take(y, log_sum_exp(exec::simd, row, transform)).ok());
  CHECK(std::fabs(x - y) <= 2e-6 + std::fabs(x) * 0x1.0p-50);
  std::vector<float> p(row.valid_size()), q(row.valid_size());
  REQUIRE(softmax(exec::seq, row, transform, std::span<float>(p)).ok());
  REQUIRE(softmax(exec::simd, row, transform, std::span<float>(q)).ok());
  double distance = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    distance += std::fabs(static_cast<double>(p[i]) - static_cast<double>(q[i]));
  CHECK(distance < 1e-5);
}

template <class Scalar>
void all_shapes() {
  for (const std::uint32_t size : sizes) {
    const std::vector<double> values = normal_logits(size, size * 3 + 1, 2.5);
    for (const std::uint32_t offset : {0u, 1u, 3u, 5u, 8u, 13u}) {
      if (size > 300 && offset > 1) continue;
      const auto poison = scalar_of<Scalar>(nan_value());
      std::vector<Scalar> memory(offset, poison);
      for (const double value : values) memory.push_back(scalar_of<Scalar>(value));
      memory.resize(memory.size() + 67, poison);
      row_transform transform;
      transform.temperature = 0.9;
      compare(row_view<Scalar>(row_kind::logits, memory.data() + offset, size + 67, size), transform);
    }
    for (const std::uint32_t stride : {2u, 5u}) {
      std::vector<Scalar> memory(static_cast<std::size_t>(size) * stride, scalar_of<Scalar>(nan_value()));
      for (std::uint32_t i = 0; i < size; ++i)
        memory[static_cast<std::size_t>(i) * stride] = scalar_of<Scalar>(values[i]);
      compare(row_view<Scalar>(row_kind::logits, memory.data(), size, size, stride), {});
    }
    const auto row = row_of<Scalar>(values);
    std::vector<std::uint64_t> mask(size / 64 + 1);
    generator random{size};
    for (auto& word : mask) word = random.next() | (random.next() & 1u);
    mask[0] |= 1;
    const sparse_bias bias(size, random);
    row_transform transform;
    transform.mask_words = mask;
    transform.bias_ids = bias.ids;
    transform.bias_values = bias.values;
    for (const double temperature : {0.0, 0.05, 1.0, 30.0}) {
      transform.temperature = temperature;
      compare(logits(row), transform);
    }
    transform.temperature = 1.0;
    transform.truncation = {20, 0.95, 0.001, truncation_order::top_k_then_top_p};
    compare(logits(row), transform);
  }
}

}  // namespace

TEST_CASE("row backends: float rows") { all_shapes<float>(); }
TEST_CASE("row backends: double rows") { all_shapes<double>(); }
TEST_CASE("row backends: fp16 rows") { all_shapes<float16_bits>(); }
TEST_CASE("row backends: bf16 rows") { all_shapes<bfloat16_bits>(); }

TEST_CASE("row backends: probability rows, with zeros") {
  for (const std::uint32_t size : sizes) {
    generator random{size};
    std::vector<double> law(size);
    double sum = 0;
    for (double& entry : law) {
      entry = random.below(4) == 0 ? 0.0 : random.uniform();
      sum += entry;
    }
    law[size / 2] += 1;
    sum += 1;
    for (double& entry : law) entry /= sum;
    compare(probabilities(law), {});
    compare(probabilities(row_of<float>(law)), {});
    std::vector<std::uint64_t> mask(size / 64 + 1, 0x5555555555555555ull);
    mask[(size / 2) / 64] |= 1ull << ((size / 2) % 64);
    row_transform transform;
    transform.mask_words = mask;
    compare(probabilities(row_of<float>(law)), transform);
  }
}

TEST_CASE("row backends: adversarial rows, all equal, sorted, one outlier, few allowed, alternating infinities") {
  for (const std::uint32_t size : {1000u, 6000u}) {
    for (int kind = 0; kind < 5; ++kind) {
      std::vector<float> row(size);
      for (std::uint32_t i = 0; i < size; ++i) {
        const float down = -std::numeric_limits<float>::infinity();
        row[i] = kind == 0   ? 2.0f
                 : kind == 1 ? static_cast<float>(i) * 0.01f
                 : kind == 2 ? (i == size - 5 ? 500.0f : -3.0f)
                 : kind == 3 ? (i % 97 == 31 ? 1.0f : down)
                             : (i % 2 == 0 ? down : static_cast<float>(i % 7));
      }
      compare(logits(row), {});
      std::reverse(row.begin(), row.end());
      compare(logits(row), {});
    }
  }
}

namespace {

std::vector<float> hard_row(std::uint32_t kind, std::uint32_t size) {
  generator random{size * 31u + kind};
  std::vector<float> row(size);
  for (std::uint32_t i = 0; i < size; ++i)
    row[i] = hard_rows::value_of(kind, i, size, static_cast<float>(random.normal()));
  return row;
}

}  // namespace

TEST_CASE("row backends: the largest entries of hard rows, against a sort of all integer weights") {
  for (const std::uint32_t size : {257u, 4099u, 20000u}) {
    for (std::uint32_t kind = 0; kind < hard_rows::kinds; ++kind) {
      const std::vector<float> row = hard_row(kind, size);
      std::vector<std::uint32_t> weights(size);
      REQUIRE(integer_weights(exec::seq, logits(row), {}, std::span<std::uint32_t>(weights)).ok());
      const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
      std::vector<token_id> order;
      for (std::uint32_t id = 0; id < size; ++id) {
        if (weights[id] > 0) order.push_back(static_cast<token_id>(id));
      }
      const auto weight_of = [&](token_id id) { return weights[static_cast<std::size_t>(id)]; };
      std::stable_sort(order.begin(), order.end(), [&](token_id a, token_id b) { return weight_of(a) > weight_of(b); });
      for (const std::uint32_t wanted : {1u, 64u, 1024u}) {
        for_each_policy([&](auto policy) { compare_without_sums(policy, logits(row), {}, wanted); });
        for (const double share : {0.0, 1e-3}) {
          read_request request;
          request.top_entries = wanted;
          request.minimum_probability = share;
          std::size_t kept = std::min<std::size_t>(wanted, order.size());
          while (share > 0 && kept < order.size() &&
                 weight_of(order[kept]) + 1 + 0.5 * std::floor(share * size) >= share * static_cast<double>(total))
            ++kept;
          std::vector<token_id> expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept));
          std::sort(expected.begin(), expected.end());
          CAPTURE(size);
          CAPTURE(kind);
          CAPTURE(wanted);
          CAPTURE(share);
          for_each_policy([&](auto policy) {
            const auto read = make_digest(policy, logits(row), {}, request);
            REQUIRE(read.outcome.ok());
            const auto ids = read.space.template at<token_id>(read.value.top_ids);
            CHECK(std::vector<token_id>(ids.begin(), ids.end()) == expected);
            CHECK(read.value.top_complete == (kept == order.size()));
          });
        }
      }
    }
  }
}

TEST_CASE("row backends: the largest entries of rows of random structure, as the scalar kernels find them") {
  generator random{17};
  for (std::uint32_t round = 0; round < 240; ++round) {
    const std::uint32_t size = 1100 + random.below(9000), structure = round % 6, levels = 1 + random.below(40);
    const std::uint32_t cluster = 1 + random.below(900), period = 1 + random.below(700);
    constexpr float scales[] = {3e-3f, 0.1f, 1.0f, 3.0f, 30.0f, 300.0f};
    const float scale = scales[random.below(6)];
    std::vector<float> row(size);
    for (std::uint32_t i = 0; i < size; ++i) {
      const float normal = static_cast<float>(random.normal());
      const float level = static_cast<float>(random.below(levels));
      const float forbidden = -std::numeric_limits<float>::infinity();
      const float place = static_cast<float>((i / cluster * 7919u) % 101u);
      row[i] = structure == 0   ? scale * normal
               : structure == 1 ? scale * level                                     // ties everywhere
               : structure == 2 ? scale * place + 0x1.0p-10f * normal               // clusters of neighbours
               : structure == 3 ? (i % period == 0 ? scale * level : -60.0f)        // what is large has a period
               : structure == 4 ? (random.below(period) == 0 ? normal : forbidden)  // few are allowed
                                : 1.0f + 0x1.0p-23f * level;                        // next to each other
    }
    row[random.below(size)] = 300.0f * scale;
    read_request request;
    request.top_entries = 1 + random.below(random.below(2) == 0 ? 80 : 1500);
    request.minimum_probability = random.below(3) == 0 ? 1e-3 : 0.0;
    row_transform transform;
    transform.temperature = random.below(4) == 0 ? 40.0 : 1.0;
    CAPTURE(round);
    const auto a = make_digest(exec::seq, logits(row), transform, request);
    const auto b = make_digest(exec::simd, logits(row), transform, request);
    REQUIRE(a.outcome == b.outcome);
    if (!a.outcome.ok()) continue;
    CHECK(same(a.space.template at<token_id>(a.value.top_ids), b.space.template at<token_id>(b.value.top_ids)));
    CHECK(same(a.space.template at<std::uint32_t>(a.value.top_weights),
               b.space.template at<std::uint32_t>(b.value.top_weights)));
    CHECK(a.value.top_complete == b.value.top_complete);
    compare_without_sums(exec::simd, logits(row), transform, request.top_entries);
  }
}

TEST_CASE("row backends: the largest entries of rows of probabilities, small ones and those with a tight bar") {
  for (const std::uint32_t size : {1u, 11u, 12u, 16u, 17u, 770u, 1000u, 1024u, 5000u}) {
    for (const float top : {0.3f, 0.5f, 0.999f}) {
      std::vector<float> row(size, (1.0f - top) / static_cast<float>(size));
      for (std::uint32_t i = 0; i + 1 < size; i += 2) {  // pairs that sum to what they were
        const float step = row[i] * static_cast<float>(i % 29) / 30.0f;
        row[i] += step;
        row[i + 1] -= step;
      }
      row[size / 2] += top;
      for (const std::uint32_t wanted : {1u, 8u, 54u, 64u, size}) {
        read_request request;
        request.top_entries = wanted;
        CAPTURE(size);
        CAPTURE(top);
        CAPTURE(wanted);
        const auto a = make_digest(exec::seq, probabilities(row), {}, request);
        const auto b = make_digest(exec::simd, probabilities(row), {}, request);
        REQUIRE(a.outcome.ok());
        REQUIRE(b.outcome.ok());
        CHECK(a.value.top_ids.count == std::min(wanted, size));
        CHECK(same(a.space.template at<token_id>(a.value.top_ids), b.space.template at<token_id>(b.value.top_ids)));
        CHECK(a.value.top_complete == b.value.top_complete);
      }
    }
  }
}

TEST_CASE("NUM-3 row backends: temperatures up to the highest, with forbidden ids") {
  for (const std::uint32_t size : {3u, 16u, 17u, 1000u, 4099u}) {
    std::vector<float> row = row_of<float>(normal_logits(size, 6, 3.0));
    row[size / 3] = -std::numeric_limits<float>::infinity();
    std::vector<std::uint64_t> mask(size / 64 + 1, ~std::uint64_t{0});
    mask[0] ^= 2;
    for (const double temperature : {1e20, 1e30, 1e36, 0x1p120}) {
      CAPTURE(size);
      CAPTURE(temperature);
      row_transform transform;
      transform.temperature = temperature;
      transform.mask_words = mask;
      compare(logits(row), transform);
      std::vector<float> p(size);
      REQUIRE(softmax(exec::simd, logits(row), transform, std::span<float>(p)).ok());
      CHECK(p[1] == 0.0f);
      CHECK(std::fabs(static_cast<double>(p[0]) * (size - 1.0 - (size / 3 != 1 ? 1.0 : 0.0)) - 1.0) < 1e-4);
    }
  }
}

TEST_CASE("NUM-3 row backends: the largest differences of floats at the highest temperature, and none above") {
  for (const double temperature : {1e30, 1e35, 1e36, 0x1p120}) {
    std::vector<float> row(5000, -3e38f);
    row[0] = 3e38f;
    row[77] = 2.5e38f;
    row_transform transform;
    transform.temperature = temperature;
    compare(logits(row), transform);
    for_each_policy([&](auto policy) {
      const auto read = make_digest(policy, logits(row), transform, {.top_entries = 64, .minimum_probability = 0.01});
      REQUIRE(read.outcome.ok());
      CHECK(read->top_ids().size() == 1);
      const weight_bounds known = read->total_bounds();
      CHECK((known.least <= 2147483648u && known.most >= 2147483648u));
    });
    transform.temperature = temperature * 2;
    const errc expected = transform.temperature > 0x1p120 ? errc::invalid_temperature : errc::ok;
    CHECK(make_digest(exec::simd, logits(row), transform).outcome.code == expected);
  }
}

TEST_CASE("NUM-1 NUM-2 row backends: a NaN or an infinity is found wherever it stands, and nothing is written") {
  constexpr std::uint32_t size = 3001;
  std::vector<float> row = row_of<float>(normal_logits(size, 4, 2.0)), out(size);
  std::vector<std::uint32_t> weights(size);
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  for (std::uint32_t at = 0; at < size; at += at < 64 ? 1 : 37) {
    for (const float value : bad) {
      const float before = row[at];
      row[at] = value;
      const status expected{value > 0 ? errc::row_has_positive_infinity : errc::row_has_nan, part::row, at};
      for_each_policy([&](auto policy) {
        CHECK(argmax(policy, logits(row), {}).error() == expected);
        CHECK(log_sum_exp(policy, logits(row), {}).error() == expected);
        CHECK(make_digest(policy, logits(row), {}).outcome == expected);
        CHECK(make_digest(policy, logits(row), {}, {.top_entries = 2, .sums = false}).outcome == expected);
        std::fill(out.begin(), out.end(), -1.0f);
        CHECK(softmax(policy, logits(row), {}, std::span<float>(out)) == expected);
        CHECK(std::all_of(out.begin(), out.end(), [](float p) { return p == -1.0f; }));
      });
      row[at] = before;
    }
  }
}

TEST_CASE("row backends: log-sum-exp and softmax where the sampled ids say nothing") {
  constexpr std::uint32_t size = 5000;
  for (const float outlier : {5.0f, 25.0f, 60.0f, 90.0f, 300.0f, 3e4f, 3e38f}) {
    for (const double temperature : {0.01, 1.0, 40.0}) {
      std::vector<float> row = row_of<float>(normal_logits(size, 9, 1.0));
      row[777] = outlier;
      row_transform transform;
      transform.temperature = temperature;
      CAPTURE(outlier);
      CAPTURE(temperature);
      const auto exact = log_sum_exp(exec::seq, logits(row), transform);
      const auto quick = log_sum_exp(exec::simd, logits(row), transform);
      REQUIRE(exact.ok());
      REQUIRE(quick.ok());
      CHECK(std::fabs(*exact - *quick) <= 2e-6 + std::fabs(*exact) * 0x1.0p-50);
      std::vector<float> p(size), q(size);
      REQUIRE(softmax(exec::seq, logits(row), transform, std::span<float>(p)).ok());
      REQUIRE(softmax(exec::simd, logits(row), transform, std::span<float>(q)).ok());
      for (std::uint32_t id = 0; id < size; ++id) {
        const double x = (static_cast<double>(row[777]) - static_cast<double>(row[id])) / temperature;
        const double bound = 3 * 0x1.0p-24 * (std::fabs(x) + std::log(size) + 10);
        REQUIRE(std::fabs(static_cast<double>(p[id]) - static_cast<double>(q[id])) <=
                bound * static_cast<double>(p[id]) + 0x1.0p-126);
      }
    }
  }
}

TEST_CASE("T32 row backends: the same tokens from the same counters") {
  const auto row = row_of<float>(normal_logits(9000, 21, 2.0));
  const auto a = make_digest(exec::seq, logits(row), {});
  const auto b = make_digest(exec::simd, logits(row), {});
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const auto stream = uniforms{philox{{1, 9}}, i, 1}.at(purpose::bonus_draw);
    const auto x = a->sample(stream, {.trial_cap = i % 3}), y = b->sample(stream, {.trial_cap = i % 3});
    REQUIRE(x.ok());
    REQUIRE(y.ok());
    CHECK((x->token == y->token && x->trials == y->trials && x->exact == y->exact));
  }
}
