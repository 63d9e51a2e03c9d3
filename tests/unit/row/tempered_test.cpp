// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/row/tempered.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

#include <array>

#include "../../support/hard_rows.hpp"
#include "row_cases.hpp"

using namespace row_cases;

namespace {

//! p_t(token) of the rows' transformed logits; the point mass at the argmax for a temperature below 1e-6.
double probability_at(const std::vector<double>& values, double temperature, token_id token) {
  if (temperature < 1e-6) return std::max_element(values.begin(), values.end()) - values.begin() == token ? 1.0 : 0.0;
  return static_cast<double>(law_of(values, temperature)[static_cast<std::size_t>(token)]);
}

template <class Held>
tempered_hits draws(const Held& from, token_id token, const std::vector<double>& temperatures,
                    const std::vector<double>& drawn) {
  const auto out = tempered_draws(*from.reading, token, temperatures, drawn);
  REQUIRE(out.ok());
  return *out;
}

//! For every temperature: the draw gives the token just below its probability, and does not just above.
template <class Scalar>
void check_edges(const std::vector<double>& values, const row_transform& transform, std::uint32_t top_entries,
                 const std::vector<double>& temperatures, token_id token, double closeness) {
  const std::vector<Scalar> row = row_of<Scalar>(values);
  const std::vector<double> seen = transformed(row, transform);
  for_each_policy([&](auto policy) {
    read_request wanted;
    wanted.top_entries = top_entries;
    const auto from = make_digest(policy, logits(row), transform, wanted);
    REQUIRE(from.outcome.ok());
    std::vector<double> found(temperatures.size());
    REQUIRE(tempered_probabilities(*from.reading, token, temperatures, found).ok());
    for (std::size_t m = 0; m < temperatures.size(); ++m) {
      const double p = probability_at(seen, temperatures[m], token);
      CAPTURE(temperatures[m]);
      CAPTURE(token);
      CHECK(found[m] == doctest::Approx(p).epsilon(1e-12));
      for (const double distance : {closeness, 1e-6, 1e-3, 0.02, 0.05, 0.2}) {
        const double below = p * (1 - distance), above = p * (1 + distance);
        if (p > 0) CHECK(draws(from, token, {temperatures[m]}, {below}).hits == 1);
        if (above < 1 && p > 0) CHECK(draws(from, token, {temperatures[m]}, {above}).hits == 0);
        if (!(p > 0)) CHECK(draws(from, token, {temperatures[m]}, {0.0}).hits == 0);
      }
    }
  });
}

const std::vector<double> bounded_temperatures{0.0, 1e-6, 0.3, 0.74, 0.76, 1.0, 1.49, 1.51, 2.0, 40.0};

//! Every bound of p holds, before any further read and after the reads that each width takes. `law`: p at the
//! temperatures above.
template <class Policy>
void check_bounds(Policy policy, const std::vector<float>& row, double temperature, std::uint32_t top_entries,
                  token_id token, const std::vector<double>& law) {
  read_request wanted;
  wanted.top_entries = top_entries;
  const auto from = make_digest(policy, logits(row), {.temperature = temperature}, wanted);
  REQUIRE(from.outcome.ok());
  std::uint32_t quick = 0;
  for (const double width : {1.0, 0.03, 1e-3, 0.0}) {
    std::vector<probability_bounds> room(law.size() + 1);
    const auto near = tempered_bounds(*from.reading, token, bounded_temperatures, width, room);
    REQUIRE(near.ok());
    const auto& [found, reads] = *near;
    REQUIRE(found.size() == law.size());
    double sum = 0;
    for (std::size_t m = 0; m < law.size(); ++m) {
      CAPTURE(bounded_temperatures[m]);
      CAPTURE(width);
      CHECK(found[m].lower <= law[m]);
      CHECK(found[m].upper >= law[m]);
      sum += found[m].upper - found[m].lower;
    }
    CHECK(sum <= std::max(width, 4.1e-12) * static_cast<double>(law.size()));
    CHECK(reads.quick >= quick);
    CHECK(reads.exact <= reads.quick);
    quick = reads.quick;
  }
  CHECK(quick <= law.size());
}

const std::vector<double> all_temperatures{0.0, 5e-7, 1e-6, 1e-3, 0.05, 0.3, 0.7, 0.999, 1.0, 1.2, 1.5, 1.75, 2.0};

}  // namespace

TEST_CASE("row.tempered: by hand, two logits ln 4 apart") {
  const std::vector<double> row{0.0, std::log(4.0)};
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, logits(row), {});
    const std::vector<double> temperatures{1.0, 2.0, 0.5, 0.0};  // 1/5, 1/3, 1/17, 0
    std::vector<double> p(4);
    const auto written = tempered_probabilities(*from.reading, 0, temperatures, p);
    REQUIRE(written.ok());
    CHECK(written->size() == 4);
    CHECK(p[0] == doctest::Approx(0.2).epsilon(1e-14));
    CHECK(p[1] == doctest::Approx(1.0 / 3.0).epsilon(1e-14));
    CHECK(p[2] == doctest::Approx(1.0 / 17.0).epsilon(1e-14));
    CHECK(p[3] < 1e-300);
    CHECK(draws(from, 0, temperatures, {0.199, 0.334, 0.058, 0.0}).hits == 2);
    CHECK(draws(from, 1, {0.0, 1.0}, {0.999, 0.799}).hits == 2);
  });
}

TEST_CASE(
    "row.tempered: decisions change at the probability itself, any temperature, any shape of row, with and without "
    "top_entries") {
  row_transform plain;
  plain.temperature = 2;
  for (const std::uint32_t top_entries : {0u, 4u, 256u}) {
    for (std::uint64_t seed = 1; seed <= (std::getenv("SPECVERIFY_EMULATED") != nullptr ? 1u : 3u); ++seed) {
      for (const double spread : {0.5, 3.0, 12.0}) {
        std::vector<double> values = normal_logits(1500, seed, spread);
        const auto best = static_cast<token_id>(std::max_element(values.begin(), values.end()) - values.begin());
        CAPTURE(seed);
        CAPTURE(spread);
        CAPTURE(top_entries);
        for (const token_id token : {best, token_id{3}}) {
          check_edges<float>(values, plain, top_entries, all_temperatures, token, 1e-9);
          check_edges<double>(values, plain, top_entries, all_temperatures, token, 1e-11);
        }
      }
    }
  }
}

TEST_CASE("row.tempered: a peak over a flat floor, where the normaliser bends inside the range of temperatures") {
  row_transform plain;
  for (const double height : {4.0, 8.0, 12.0, 20.0}) {
    std::vector<double> values(3000, 0.0);
    values[1234] = height;
    CAPTURE(height);
    for (const std::uint32_t top_entries : {1u, 64u})
      check_edges<float>(values, plain, top_entries, all_temperatures, 1234, 1e-9);
    check_edges<bfloat16_bits>(values, plain, 64, all_temperatures, 0, 1e-9);
  }
}

TEST_CASE(
    "NUM-3 row.tempered: forbidden ids, biases and masks; digests of other temperatures and truncated ones say the "
    "same") {
  std::vector<double> values = normal_logits(300, 5);
  for (std::size_t v = 0; v < values.size(); v += 3) values[v] = -infinity;
  const token_id ids[2] = {1, 7};
  const float bias[2] = {6.0f, -2.0f};
  std::vector<std::uint64_t> mask(5, ~std::uint64_t{0});
  mask[0] &= ~(std::uint64_t{1} << 11);
  row_transform transform;
  transform.bias_ids = ids;
  transform.bias_values = bias;
  transform.mask_words = mask;
  for (const double temperature : {0.0, 0.01, 0.7, 1.0, 5.0}) {
    transform.temperature = temperature;
    CAPTURE(temperature);
    for (const std::uint32_t top_entries : {0u, 16u, 400u}) {
      check_edges<float>(values, transform, top_entries, {0.1, 0.9, 1.4, 2.0}, 1, 1e-9);
      check_edges<double>(values, transform, top_entries, {0.1, 0.9, 1.4, 2.0}, 7, 1e-9);
      check_edges<float>(values, transform, top_entries, {0.0, 0.5, 2.0}, 11, 1e-9);  // masked
      check_edges<float>(values, transform, top_entries, {0.0, 0.5, 2.0}, 3, 1e-9);   // -infinity
    }
    transform.truncation.top_k = 5;
    check_edges<float>(values, transform, 16, {0.1, 1.4, 2.0}, 1, 1e-9);
    transform.truncation = {};
  }
}

TEST_CASE("row.tempered: more temperatures than one read serves, hot and cold ones mixed") {
  const std::vector<double> values = normal_logits(2000, 9, 2.0);
  const auto row = row_of<float>(values);
  std::vector<double> temperatures, uniforms;
  generator random{99};
  for (int m = 0; m < 101; ++m) {
    temperatures.push_back(m % 10 == 0 ? 0.0 : 8.0 * random.uniform() * random.uniform());
    uniforms.push_back(random.uniform() * random.uniform());
  }
  for_each_policy([&](auto policy) {
    read_request wanted;
    wanted.top_entries = 64;
    const auto from = make_digest(policy, logits(row), {}, wanted);
    for (const token_id token : {from.value.argmax, from.space.template at<token_id>(from.value.top_ids)[5]}) {
      std::uint32_t expected = 0;
      for (std::size_t m = 0; m < temperatures.size(); ++m)
        expected += uniforms[m] < probability_at(values, temperatures[m], token) ? 1u : 0u;
      const tempered_hits found = draws(from, token, temperatures, uniforms);
      CHECK(found.hits == expected);
      CHECK(found.reads.quick <= 5);
    }
  });
}

TEST_CASE("row.tempered: bounds hold whatever the reading was, and reads bring them as near as was asked") {
  constexpr std::uint32_t size = 1100;
  generator random{5};
  for (std::uint32_t kind = 0; kind < hard_rows::kinds + 3; ++kind) {
    std::vector<float> row;
    if (kind < hard_rows::kinds) {
      for (std::uint32_t id = 0; id < size; ++id)
        row.push_back(hard_rows::value_of(kind, id, size, static_cast<float>(random.normal())));
    } else {
      row = row_of<float>(normal_logits(size, 7, std::array{0.3, 3.0, 9.0}[kind - hard_rows::kinds]));
    }
    const std::vector<double> values = transformed(row, {});
    const auto token =
        kind % 3 == 0 ? token_id{5} : static_cast<token_id>(std::max_element(row.begin(), row.end()) - row.begin());
    std::vector<double> law;
    for (const double temperature : bounded_temperatures) law.push_back(probability_at(values, temperature, token));
    CAPTURE(kind);
    for (const double temperature : {0.0, 0.2, 1.0, 1.5, 30.0}) {
      for (const std::uint32_t top_entries : {0u, 3u, 64u, size}) {
        CAPTURE(temperature);
        CAPTURE(top_entries);
        check_bounds(exec::simd, row, temperature, top_entries, token, law);
        if (temperature == 1.5 && top_entries == 64) check_bounds(exec::seq, row, temperature, top_entries, token, law);
      }
    }
  }
}

TEST_CASE("row.tempered: brackets decide nearly all draws, and exact sums hardly any") {
  const auto probability = [](const std::vector<double>& values, double maximum, double temperature) {
    double sum = 0;
    for (const double value : values) sum += std::exp((value - maximum) / temperature);
    return 1.0 / sum;  // of the largest entry
  };
  tempered_reads reads;
  std::uint32_t draws_made = 0;
  generator random{2024};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::vector<double> values = normal_logits(2000, seed, 1.0 + 0.1 * static_cast<double>(seed % 40));
    if (seed % 2 == 0) values[static_cast<std::size_t>(seed)] = 12.0;
    const auto row = row_of<float>(values);
    read_request wanted;
    wanted.top_entries = 64;
    row_transform transform;
    transform.temperature = seed % 3 == 0 ? 1.0 : 1.5;
    const auto from = make_digest(exec::simd, logits(row), transform, wanted);
    REQUIRE(from.outcome.ok());
    for (int call = 0; call < 3; ++call) {
      std::vector<double> temperatures, uniforms;
      std::uint32_t expected = 0;
      for (int m = 0; m < 20; ++m) {
        temperatures.push_back(2.0 * random.uniform());
        uniforms.push_back(random.uniform());
        expected += uniforms.back() < probability(values, from.value.maximum, temperatures.back()) ? 1u : 0u;
      }
      const tempered_hits found = draws(from, from.value.argmax, temperatures, uniforms);
      CHECK(found.hits == expected);
      CHECK(found.reads.quick <= 6);
      reads += found.reads;
      draws_made += 20;
    }
  }
  CHECK(reads.quick * 20 <= draws_made);  // a read of the row for every call would be 1 / 20
  CHECK(reads.exact * 1000 <= draws_made);
  MESSAGE(reads.quick << " quick and " << reads.exact << " exact reads for " << draws_made << " draws");
}

TEST_CASE("row.tempered: a draw at the probability itself needs one exact sum, a draw far from it no read") {
  const auto row = row_of<float>(normal_logits(3000, 3));
  for_each_policy([&](auto policy) {
    read_request wanted;
    wanted.top_entries = 64;
    const auto from = make_digest(policy, logits(row), {}, wanted);
    std::vector<double> p(1);
    REQUIRE(tempered_probabilities(*from.reading, from.value.argmax, std::vector<double>{1.1}, p).ok());
    const tempered_hits near = draws(from, from.value.argmax, {1.1}, {p[0] * (1 - 1e-9)});
    CHECK(near.reads.quick == 1);
    CHECK(near.reads.exact == 1);
    const tempered_hits far = draws(from, from.value.argmax, {1.1, 1.1}, {p[0] * 0.5, p[0] * 2});
    CHECK(far.hits == 1);
    CHECK(far.reads.quick == 0);
    CHECK(far.reads.exact == 0);
  });
}

TEST_CASE("row.tempered: each wrong argument has its own error, and nothing is written") {
  const std::vector<float> row{0.0f, 1.0f, 2.0f};
  const auto from = make_digest(exec::seq, logits(row), {});
  const std::vector<double> one{1.0};
  const auto code = [&](token_id token, std::vector<double> temperatures, std::vector<double> drawn) {
    return tempered_draws(*from.reading, token, temperatures, drawn).error().code;
  };
  CHECK(code(0, one, {0.5}) == errc::ok);
  CHECK(code(std::numeric_limits<token_id>::max(), one, {0.5}) == errc::token_out_of_range);
  CHECK(code(0, one, {}) == errc::size_mismatch);
  CHECK(code(-1, one, {0.5}) == errc::token_out_of_range);
  CHECK(code(3, one, {0.5}) == errc::token_out_of_range);
  CHECK(code(0, {1.0, -1.0}, {0.5, 0.5}) == errc::invalid_temperature);
  CHECK(code(0, {nan_value()}, {0.5}) == errc::invalid_temperature);
  CHECK(code(0, {infinity}, {0.5}) == errc::invalid_temperature);
  CHECK(code(0, one, {0.5, 0.5}) == errc::size_mismatch);
  for (const double uniform : {-0.1, 1.0, nan_value(), infinity})
    CHECK(code(0, one, {uniform}) == errc::invalid_argument);
  CHECK(code(0, {}, {}) == errc::ok);
  CHECK(code(0, {nan_value()}, {nan_value()}) == errc::invalid_temperature);
  const std::vector<float> law{0.5f, 0.25f, 0.25f};
  const auto of_law = make_digest(exec::seq, probabilities(law), {});
  CHECK(tempered_draws(*of_law.reading, 0, one, one).error().code == errc::unsupported);
  std::vector<probability_bounds> bounds{{77.0, 78.0}};
  for (const double width : {-0.1, nan_value(), infinity})
    CHECK(tempered_bounds(*from.reading, 0, one, width, bounds).error().code == errc::invalid_argument);
  CHECK(tempered_bounds(*from.reading, 3, one, 0.1, bounds).error().code == errc::token_out_of_range);
  CHECK(tempered_bounds(*from.reading, 0, std::vector<double>{1.0, 1.0}, 0.1, bounds).error().code ==
        errc::output_too_small);
  CHECK((bounds[0].lower == 77.0 && bounds[0].upper == 78.0));
  std::vector<double> none, out{79.0};
  CHECK(tempered_probabilities(*from.reading, 0, one, none).error().code == errc::output_too_small);
  CHECK(tempered_probabilities(*from.reading, 3, one, out).error().code == errc::token_out_of_range);
  CHECK(tempered_probabilities(*from.reading, 0, std::vector<double>{-1.0}, out).error().code ==
        errc::invalid_temperature);
  CHECK(out[0] == 79.0);
}
