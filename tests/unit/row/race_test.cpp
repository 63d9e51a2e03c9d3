// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/race.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"
#include "support/alloc_guard.hpp"

using namespace row_cases;

namespace {

//! The winner by its definition: over all ids, with logarithms in long double.
token_id winner(const std::vector<double>& values, row_kind kind, double temperature, const coupling_noise& noise,
                std::uint32_t position) {
  token_id best = no_token;
  long double least = 0;
  for (std::size_t id = 0; id < values.size(); ++id) {
    const double value = values[id];
    if (kind == row_kind::probabilities ? value <= 0 : value < std::numeric_limits<double>::lowest() / 2) continue;
    const long double log_weight = kind == row_kind::probabilities
                                       ? std::log(static_cast<long double>(value))
                                       : static_cast<long double>(value) / static_cast<long double>(temperature);
    const long double time =
        std::log(static_cast<long double>(noise.time(position, static_cast<token_id>(id)))) - log_weight;
    if (best == no_token || time < least) {
      best = static_cast<token_id>(id);
      least = time;
    }
  }
  return best;
}

std::vector<read_request> requests(std::uint32_t vocab_size) {
  read_request whole;
  whole.top_entries = vocab_size;
  read_request few;
  few.top_entries = 3;
  return {race_request(vocab_size), read_request{}, few, whole};
}

template <class Scalar>
void check_row(row_view<Scalar> row, const row_transform& transform, token_id expected, const coupling_noise& noise,
               std::uint32_t position) {
  for_each_policy([&](auto policy) {
    for (const read_request& request : requests(row.valid_size())) {
      const auto held = make_digest(policy, row, transform, request);
      REQUIRE(held.outcome.ok());
      const result<token_id> won = held->race(noise, position);
      REQUIRE(won.ok());
      CHECK(*won == expected);
    }
  });
}

//! Compares the pass over `count` ids with the words of each id, for a bar that is the word of one of them.
void check_pass(const coupling_noise& noise, std::uint32_t first, std::uint32_t count, std::uint32_t bar) {
  const auto word_of = [&](std::uint32_t id) { return noise.high_words(8, id / 4).word[id % 4]; };
  std::vector<std::uint32_t> expected;
  for (std::uint32_t id = first; id < first + count; ++id) {
    if (word_of(id) <= bar) expected.push_back(id);
  }
  for_each_policy([&](auto policy) {
    std::vector<kernel::noise_hit> hits(count);
    hits.resize(kernel::list_small_noise(policy, noise, 8, first, count, bar, hits.data()));
    std::vector<std::uint32_t> listed;
    for (const kernel::noise_hit& hit : hits) {
      listed.push_back(hit.id);
      CHECK(word_of(hit.id) == hit.high);
    }
    std::sort(listed.begin(), listed.end());
    const bool lists_exactly_these = listed == expected;
    CHECK(lists_exactly_these);
  });
}

noise_kind kind_of(std::uint32_t number) { return static_cast<noise_kind>(1 + number % 4); }

}  // namespace

TEST_CASE("row.race: the winner over all ids, whatever the read listed") {
  for (const std::uint32_t size : {1u, 2u, 3u, 5u, 15u, 17u, 127u, 129u, 1023u, 1024u, 1025u, 4099u}) {
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
      const std::vector<double> values = normal_logits(size, seed, seed % 3 == 0 ? .1 : 2.0 * (seed % 3));
      const coupling_noise noise{kind_of(seed), seed * 0x9E3779B97F4A7C15u + size};
      row_transform transform;
      transform.temperature = seed % 2 == 0 ? 1.0 : .7;
      const token_id expected = winner(values, row_kind::logits, transform.temperature, noise, seed);
      check_row(logits(values), transform, expected, noise, seed);
      check_row(logits(row_of<float>(values)), transform, expected, noise, seed);
      const auto halves = row_of<bfloat16_bits>(values);
      check_row(logits(halves), transform,
                winner(transformed(halves, transform), row_kind::logits, transform.temperature, noise, seed), noise,
                seed);
    }
  }
}

TEST_CASE("row.race: bias, mask and padding count") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    generator random{seed + 1};
    const std::uint32_t size = 200 + random.below(2000);
    const std::vector<float> row = row_of<float>(normal_logits(size, seed));
    const sparse_bias bias(size, random);
    std::vector<std::uint64_t> mask((size + 63) / 64);
    for (std::uint64_t& word : mask) word = random.next() & random.next();
    mask[0] |= 1;
    row_transform transform;
    transform.bias_ids = bias.ids;
    transform.bias_values = bias.values;
    transform.mask_words = mask;
    const coupling_noise noise{kind_of(seed), random.next()};
    check_row(logits(row), transform, winner(transformed(row, transform), row_kind::logits, 1, noise, seed), noise,
              seed);
  }
}

TEST_CASE("row.race: a truncated row races among the kept ids, a one-hot row not at all") {
  const std::vector<double> values = normal_logits(1000, 4, 1.0);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const coupling_noise noise{kind_of(seed), seed};
    row_transform transform;
    transform.truncation.top_k = 7;
    std::vector<double> kept = values, sorted = values;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (double& value : kept) value = value < sorted[6] ? -infinity : value;
    check_row(logits(values), transform, winner(kept, row_kind::logits, 1, noise, seed), noise, seed);
    row_transform greedy;
    greedy.temperature = 0;
    const auto largest = std::max_element(values.begin(), values.end()) - values.begin();
    check_row(logits(values), greedy, static_cast<token_id>(largest), noise, seed);
  }
}

TEST_CASE("row.race: rows of probabilities, zeros never win") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    generator random{seed + 77};
    std::vector<double> values(500);
    double sum = 0;
    for (double& value : values) sum += value = random.below(3) == 0 ? 0 : random.uniform();
    for (double& value : values) value /= sum;
    const coupling_noise noise{kind_of(seed), seed};
    check_row(probabilities(values), {}, winner(values, row_kind::probabilities, 1, noise, seed), noise, seed);
  }
}

TEST_CASE("row.race: the pass over noise lists the ids at the threshold and below") {
  for (std::uint32_t kind = 0; kind < 4; ++kind) {
    const coupling_noise noise{kind_of(kind), 21};
    for (const std::uint32_t count : {1u, 4u, 63u, 64u, 129u, 500u, 1024u}) {
      for (const std::uint32_t first : {0u, 4u, 1024u}) {
        for (std::uint32_t id = first; id < first + count; id += 1 + count / 9)
          check_pass(noise, first, count, noise.high_words(8, id / 4).word[id % 4]);
      }
    }
  }
}

TEST_CASE("row.race: ties go to the smaller id") {
  // Probabilities that are the times themselves, times a power of two: every ratio is the same double.
  const coupling_noise noise{noise_kind::philox, 5};
  for (std::uint32_t position = 0; position < 8; ++position) {
    const double unit_of_time = 0x1.0p-8;
    std::vector<double> values(4096, 0.0);
    double sum = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t id = 3 + 100 * position; id < values.size() && sum < .998; ++id) {
        const double entry = noise.time(position, static_cast<token_id>(id)) * unit_of_time;
        if (values[id] > 0 || sum + entry > 1.003) continue;
        values[id] = entry;
        sum += entry;
      }
    }
    REQUIRE(std::fabs(sum - 1) < 4e-3);
    const auto first = std::find_if(values.begin(), values.end(), [](double value) { return value > 0; });
    check_row(probabilities(values), {}, static_cast<token_id>(first - values.begin()), noise, position);
  }
}

TEST_CASE("row.race: noise depends on key and position, and an expired reading says so") {
  const std::vector<float> row = row_of<float>(normal_logits(2000, 1, .5));
  auto held = make_digest(exec::simd, logits(row), {}, race_request(2000));
  int other_position = 0, other_key = 0;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const token_id here = *held->race({noise_kind::philox, 9}, i);
    other_position += *held->race({noise_kind::philox, 9}, i + 1) != here ? 1 : 0;
    other_key += *held->race({noise_kind::philox, 10}, i) != here ? 1 : 0;
  }
  CHECK(other_position > 45);
  CHECK(other_key > 45);
  for (const int kind : {0, 5, 255})
    CHECK(held->race({static_cast<noise_kind>(kind), 9}, 0).error() == status{errc::invalid_argument, part::row, 0});
  held.space.rewind(0);
  CHECK(held->race({}, 0).error().code == errc::reading_expired);
}

TEST_CASE("row.race: allocates nothing") {
  const std::vector<float> row = row_of<float>(normal_logits(5000, 2));
  const auto held = make_digest(exec::simd, logits(row), {}, race_request(5000));
  const specverify_test::alloc_guard guard;
  (void)held->race({}, 1);
  CHECK(guard.count() == 0);
}
