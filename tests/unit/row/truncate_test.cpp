// SPDX-License-Identifier: Apache-2.0
// What a truncation keeps of a row, against a sort of its integer weights.
#include <specverify/row/integer_weights.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"
#include "support/hard_rows.hpp"

using namespace specverify;
using namespace row_cases;

namespace {

template <class Held>
std::vector<token_id> kept_ids(const Held& from) {
  const auto ids = from.space.template at<token_id>(from.value.kept_ids);
  return {ids.begin(), ids.end()};
}

template <class Held>
std::vector<double> kept_weights(const Held& from) {
  const auto weights = from.space.template at<double>(from.value.kept_weights);
  return {weights.begin(), weights.end()};
}

struct kept_rows {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> weights;
};

//! Every order of a row: each rule keeps a prefix of the sorted ids.
struct sorted_row {
  template <class Scalar>
  sorted_row(row_view<Scalar> row, row_transform transform) : weights(row.valid_size()) {
    transform.truncation = {};
    REQUIRE(integer_weights(exec::seq, row, transform, std::span(weights)).ok());
    for (std::uint32_t id = 0; id < row.valid_size(); ++id) {
      if (weights[id] > 0) order.push_back(static_cast<token_id>(id));
    }
    std::stable_sort(order.begin(), order.end(), [&](token_id a, token_id b) { return at(a) > at(b); });
  }
  std::uint32_t at(token_id id) const { return weights[static_cast<std::size_t>(id)]; }

  //! The length of the least prefix that holds a share of the first `count`, but for half a unit for each of
  //! `roundings`.
  std::size_t holding(double share, std::size_t count, std::size_t roundings) const {
    std::uint64_t all = 0, sum = 0;
    for (std::size_t i = 0; i < count; ++i) all += at(order[i]);
    const long double target =
        static_cast<long double>(share) * static_cast<long double>(all) - 0.5L * static_cast<long double>(roundings);
    for (std::size_t i = 0; i < order.size(); ++i) {
      sum += at(order[i]);
      if (static_cast<long double>(sum) >= target) return i + 1;
    }
    return order.size();
  }
  kept_rows kept(const row_truncation& cut) const {
    std::size_t size = order.size();
    const std::size_t first = cut.top_k == 0 ? size : std::min<std::size_t>(size, cut.top_k);
    const bool shares_first =
        cut.order == truncation_order::top_k_then_top_p && cut.top_k != 0 && cut.top_k < weights.size();
    if (cut.top_p < 1.0)
      size = shares_first ? holding(cut.top_p, first, cut.top_k) : holding(cut.top_p, size, weights.size());
    size = std::min(size, first);
    while (size > 0 && static_cast<double>(at(order[size - 1])) < cut.min_p * 2147483648.0 - 0.5) --size;
    kept_rows made{{order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size)}, {}};
    std::sort(made.ids.begin(), made.ids.end());
    for (const token_id id : made.ids) made.weights.push_back(at(id));
    return made;
  }

  std::vector<std::uint32_t> weights;
  std::vector<token_id> order;
};

constexpr truncation_order orders[] = {truncation_order::joint, truncation_order::top_k_then_top_p,
                                       truncation_order::top_p_then_top_k};

//! Every rule alone and with others; `few`: of the orders the default one.
std::vector<row_truncation> rules(std::uint32_t size, bool few) {
  std::vector<row_truncation> all;
  for (const truncation_order order : orders) {
    if (few && order != truncation_order::top_k_then_top_p) continue;
    for (const std::uint32_t count : {0u, 1u, 50u, size / 3, size, size + 7}) {
      for (const double share : {1.0, 0.9, 0.999, 0.3, 1e-9}) {
        for (const double least : {0.0, 0.05, 1e-6, 1.0}) {
          const row_truncation cut{count, share, least, order};
          if (cut.active() && (!few || (count != 0) + (share < 1.0) + (least > 0.0) < 3)) all.push_back(cut);
        }
      }
    }
  }
  return all;
}

template <class Scalar>
void compare(row_view<Scalar> row, row_transform transform, bool few = false) {
  const sorted_row sorted(row, transform);
  for (const row_truncation& cut : rules(row.valid_size(), few)) {
    transform.truncation = cut;
    CAPTURE(row.valid_size());
    CAPTURE(cut.top_k);
    CAPTURE(cut.top_p);
    CAPTURE(cut.min_p);
    CAPTURE(static_cast<int>(cut.order));
    const kept_rows expected = sorted.kept(cut);
    std::uint64_t mass = 0;
    for (const std::uint32_t weight : expected.weights) mass += weight;
    const read_request wanted{.top_entries = row.valid_size()};
    const auto plain = make_digest(exec::seq, row, transform, wanted);
    const auto made = make_digest(exec::simd, row, transform, wanted);
    REQUIRE(plain.outcome.ok());
    REQUIRE(made.outcome.ok());
    const bool same_ids = kept_ids(plain) == expected.ids && kept_ids(made) == expected.ids;
    CHECK(same_ids);
    const auto weights = made->top_weights();
    CHECK(std::vector<std::uint32_t>(weights.begin(), weights.end()) == expected.weights);
    CHECK(plain.value.total_weight == mass);
    CHECK(made.value.total_weight == mass);
    CHECK(made->total_weight() == mass);
    CHECK(kept_weights(plain) == kept_weights(made));
    CHECK(plain.value.normaliser == made.value.normaliser);
  }
}

std::vector<float> hard_row(std::uint32_t kind, std::uint32_t size) {
  generator random{kind * 31 + size};
  std::vector<float> row(size);
  for (std::uint32_t id = 0; id < size; ++id)
    row[id] = hard_rows::value_of(kind, id, size, static_cast<float>(random.normal()));
  return row;
}

//! A few entries with most of the mass over a Gaussian.
std::vector<float> peaked_row(std::uint32_t size, std::uint64_t seed) {
  generator random{seed * 2654435761u + 977};
  std::vector<float> row(size);
  for (float& value : row) value = static_cast<float>(3.0 * random.normal());
  const double base = 4.5 + std::log(static_cast<double>(size));
  for (int i = 0; i < 30; ++i) row[random.below(size)] = static_cast<float>(base + 2 - 0.2 * i + 0.1 * random.normal());
  return row;
}

}  // namespace

TEST_CASE("row.truncate: a sort keeps the same of hard rows") {
  for (std::uint32_t kind = 0; kind < hard_rows::kinds; ++kind) {
    CAPTURE(kind);
    for (const std::uint32_t size : {1u, 2u, 63u, 300u, 1025u, 4099u}) {
      if (kind == 9 && size < 17) continue;  // all forbidden
      const auto row = hard_row(kind, size);
      compare(logits(row), {}, size > 300);
    }
  }
}

TEST_CASE_TEMPLATE("row.truncate: a sort keeps the same with bias and mask", Scalar, float, double, bfloat16_bits,
                   float16_bits) {
  for (const std::uint32_t size : {17u, 1024u, 1500u}) {
    const auto row = row_of<Scalar>(normal_logits(size, size));
    generator random{size};
    std::vector<std::uint64_t> mask(size / 64 + 1);
    for (auto& word : mask) word = random.next() | 1u;
    const sparse_bias bias(size, random);
    row_transform transform;
    for (const double temperature : {0.05, 1.0, 30.0}) {
      transform.temperature = temperature;
      compare(logits(row), transform, true);
    }
    transform.temperature = 1.0;
    transform.mask_words = mask;
    compare(logits(row), transform, true);
    transform.bias_ids = bias.ids;
    transform.bias_values = bias.values;
    compare(logits(row), transform, true);
  }
}

TEST_CASE("row.truncate: a sort keeps the same of probabilities") {
  for (const std::uint32_t size : {5u, 1024u, 3000u}) {
    generator random{size};
    std::vector<double> law(size);
    double sum = 0;
    for (double& entry : law) sum += entry = random.below(4) == 0 ? 0.0 : std::exp(4 * random.normal());
    for (double& entry : law) entry /= sum;
    compare(probabilities(row_of<float>(law)), {}, true);
    compare(probabilities(law), {}, true);
  }
}

TEST_CASE("row.truncate: shares that end at an entry or behind its roundings") {
  for (const std::uint32_t size : {1200u, 20000u}) {
    const auto row = peaked_row(size, size);
    const sorted_row sorted(logits(row), {});
    std::uint64_t total = 0, sum = 0;
    for (const std::uint32_t weight : sorted.weights) total += weight;
    for (std::size_t rank = 0; rank < 400; ++rank) {
      sum += sorted.at(sorted.order[rank]);
      if (rank % 13 != 0) continue;
      for (const double nudge : {-1e-12, 1e-12}) {
        row_transform transform;
        transform.truncation.top_p = (static_cast<double>(sum) + 0.5 * size) / static_cast<double>(total) * (1 + nudge);
        const auto expected = sorted.kept(transform.truncation).ids;
        CHECK(expected.size() == rank + (nudge < 0 ? 1 : 2));
        for_each_policy([&](auto policy) {
          const auto made = make_digest(policy, logits(row), transform);
          CHECK(kept_ids(made) == expected);
        });
      }
    }
  }
}

TEST_CASE_TEMPLATE("row.truncate: a share that the law holds exactly is reached by its weights", Scalar, double,
                   float) {
  struct example {
    std::vector<double> law;
    double top_p, min_p;
    std::size_t kept;
  };
  std::vector<double> tail{0.5, 0.3};
  tail.resize(2002, 0.0001);
  const std::vector<example> examples{
      {{0.5, 0.3, 0.1, 0.1}, 0.8, 0, 2},     {{0.5, 0.3, 0.1, 0.1}, 0.9, 0, 3}, {{0.5, 0.15, 0.35}, 1, 0.3, 3},
      {{0.4, 0.3, 0.15, 0.15}, 0.7, 0, 2},   {{0.6, 0.2, 0.2}, 0.8, 0, 2},      {{0.7, 0.1, 0.1, 0.1}, 0.9, 0, 3},
      {{0.7, 0.15, 0.1, 0.05}, 0.85, 0, 2},  {{0.5, 0.3, 0.1, 0.1}, 1, 0.6, 2}, {tail, 0.8, 0, 2},
      {{0.3, 0.3, 0.2, 0.1, 0.1}, 0.8, 0, 3}};
  for (const example& one : examples) {
    CAPTURE(one.law[0]);
    CAPTURE(one.top_p);
    CAPTURE(one.min_p);
    const std::vector<Scalar> row = row_of<Scalar>(one.law);
    row_transform transform;
    transform.truncation.min_p = one.min_p;
    // a share of floats means what they hold
    double share = one.top_p;
    if (std::is_same_v<Scalar, float> && share < 1) {
      double all = 0, first = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        all += static_cast<double>(row[i]);
        if (i < one.kept) first += static_cast<double>(row[i]);
      }
      share = first / all;
    }
    if (std::is_same_v<Scalar, float> && one.min_p > 0) continue;
    for (const truncation_order order : orders) {
      transform.truncation.top_p = share;
      transform.truncation.order = order;
      for_each_policy([&](auto policy) {
        const auto made = make_digest(policy, probabilities(row), transform);
        CHECK(kept_ids(made).size() == one.kept);
      });
    }
  }
}

TEST_CASE("row.truncate: exact weights are summed in the order of ids") {
  const auto row = row_of<float>(normal_logits(5000, 8));
  const double largest = *std::max_element(row.begin(), row.end());
  for (const double share : {0.3, 0.9, 0.9999}) {
    row_transform transform;
    transform.temperature = 0.75;
    transform.truncation.top_p = share;
    for_each_policy([&](auto policy) {
      const auto made = make_digest(policy, logits(row), transform);
      const auto ids = kept_ids(made);
      const auto weights = kept_weights(made);
      REQUIRE(ids.size() == weights.size());
      double sum = 0;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const double value = row[static_cast<std::size_t>(ids[i])];
        CHECK(weights[i] == doctest::Approx(std::exp((value - largest) / 0.75)).epsilon(1e-14));
        sum += weights[i];
      }
      CHECK(made.value.normaliser == doctest::Approx(sum).epsilon(1e-14));
    });
  }
}

TEST_CASE("row.truncate: rows of a large vocabulary") {
  constexpr std::uint32_t size = 128256;
  const auto check = [&](const std::vector<float>& row) {
    const sorted_row sorted(logits(row), {});
    for (const row_truncation cut : {row_truncation{50, 0.9}, row_truncation{0, 0.9}, row_truncation{0, 0.99},
                                     row_truncation{0, 1.0, 0.05}, row_truncation{3000, 0.97, 1e-7, orders[0]}}) {
      row_transform transform;
      transform.truncation = cut;
      const auto made = make_digest(exec::simd, logits(row), transform);
      const bool same = kept_ids(made) == sorted.kept(cut).ids;
      CHECK(same);
    }
  };
  check(peaked_row(size, 1));
  for (const std::uint32_t kind : {0u, 1u, 7u, 8u, 12u, 14u}) check(hard_row(kind, size));
  check(row_of<float>(normal_logits(size, 3)));
}

TEST_CASE("row.truncate: few rows are summed for a share of their total") {
  int summed = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    row_transform transform;
    transform.truncation.top_p = 0.9;
    const auto row = peaked_row(20000, seed);
    const auto made = make_digest(exec::simd, logits(row), transform);
    REQUIRE(made.outcome.ok());
    summed += made->used_exact_total() ? 1 : 0;
    transform.truncation.top_k = 50;
    CHECK_FALSE(make_digest(exec::simd, logits(row), transform)->used_exact_total());
  }
  MESSAGE("rows summed for top_p = 0.9: " << summed << " of 300");
#if SPECVERIFY_WITH_SIMD
  CHECK(summed < 6);
#endif
}
