// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/coupled.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "support/stated_verdict.hpp"
#include "unit/row/row_cases.hpp"

namespace sv = specverify;
using specverify_test::stated_verdict;

namespace {

using row = std::vector<float>;

row logits(row_cases::generator& random, std::size_t size, double spread) {
  row made(size);
  for (float& value : made) value = static_cast<float>(random.normal() * spread);
  return made;
}

stated_verdict run(const sv::coupling_noise& noise, std::uint32_t position, const std::vector<sv::token_id>& tokens,
                   const std::vector<row>& values, const sv::verify_request& request = {}, std::uint32_t round = 0) {
  std::vector<sv::claimed_draft> drafts;
  for (const sv::token_id token : tokens) drafts.push_back({token, 0, 0});
  std::vector<sv::row_view<float>> rows;
  for (const row& each : values) rows.push_back(sv::logits_row<float>(each));
  const std::vector<sv::row_transform> transforms(1);
  static std::vector<std::byte> bytes(1 << 20);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  return sv::coupled_rule{noise}.verify(sv::exec::simd, std::span<const sv::claimed_draft>(drafts),
                                        sv::row_span_provider<float>(rows, transforms),
                                        sv::uniforms<>{sv::philox{}, position, round}, request, scratch);
}

sv::token_id race(const sv::coupling_noise& noise, std::uint32_t position, const row& values) {
  static std::vector<std::byte> bytes(1 << 20);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const auto size = static_cast<std::uint32_t>(values.size());
  return *sv::read_row(sv::exec::simd, sv::logits_row<float>(values), {}, sv::race_request(size), scratch)
              ->race(noise, position);
}

std::vector<double> probabilities(const row& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  double sum = 0;
  for (const float value : logits) sum += p.emplace_back(std::exp(static_cast<double>(value) - largest));
  for (double& entry : p) entry /= sum;
  return p;
}

}  // namespace

TEST_CASE("coupled: the text is the target's own race, whatever was drafted") {
  row_cases::generator random;
  for (std::uint32_t at = 0; at < 40; ++at) {
    const sv::coupling_noise noise{sv::noise_kind::philox, random.next()};
    std::vector<row> values;
    std::vector<sv::token_id> own;
    for (std::uint32_t i = 0; i < 4; ++i) {
      values.push_back(logits(random, 60, 1.5));
      own.push_back(race(noise, at + i, values[i]));
    }
    for (std::uint32_t wrong = 0; wrong < 4; ++wrong) {
      std::vector<sv::token_id> drafts(own.begin(), own.end() - 1);
      if (wrong < 3) drafts[wrong] = own[wrong] == 7 ? 8 : 7;
      const stated_verdict made = run(noise, at, drafts, values, {}, at % 5);
      REQUIRE(made.state.ok());
      CHECK(made.accepted == wrong);
      CHECK(made.next_token == own[wrong]);
      CHECK(made.source == (wrong == 3 ? sv::token_source::bonus : sv::token_source::residual));
    }
    CHECK(run(noise, at, {}, values).next_token == own[0]);
    CHECK(run(noise, at, {-7}, values).next_token == own[0]);
    CHECK(run(noise, at, {1000}, values).next_token == own[0]);
  }
}

TEST_CASE("coupled: forced rejects, stop tokens, the budget and log-probabilities count as under the greedy rule") {
  row_cases::generator random;
  const sv::coupling_noise noise{sv::noise_kind::philox, 3};
  std::vector<row> values;
  std::vector<sv::token_id> own;
  for (std::uint32_t i = 0; i < 3; ++i) {
    values.push_back(logits(random, 40, 1));
    own.push_back(race(noise, 10 + i, values[i]));
  }
  const std::vector<sv::token_id> drafts(own.begin(), own.end() - 1);
  const std::array<std::uint8_t, 2> forced{0, 1};
  sv::verify_request request;
  request.forced_rejects = forced;
  stated_verdict made = run(noise, 10, drafts, values, request);
  CHECK(made.accepted == 1);
  CHECK(made.source == sv::token_source::forced);
  CHECK(made.next_token == own[1]);

  const std::array<sv::token_id, 1> stops{own[0]};
  request = {};
  request.stop_tokens = stops;
  made = run(noise, 10, drafts, values, request);
  CHECK(made.commit_length == 1);
  CHECK(made.stop == sv::stop_reason::stop_token);

  request = {};
  request.remaining_budget = 2;
  made = run(noise, 10, drafts, values, request);
  CHECK(made.commit_length == 2);
  CHECK(made.stop == sv::stop_reason::budget);

  std::array<double, 3> logs{};
  request = {};
  request.log_probabilities = logs;
  made = run(noise, 10, drafts, values, request);
  REQUIRE(made.commit_length == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const double expected = std::log(probabilities(values[i])[static_cast<std::size_t>(own[i])]);
    CHECK(logs[i] == doctest::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("coupled: errors name their row") {
  const row good{0, 1, 2};
  row bad = good;
  bad[1] = std::numeric_limits<float>::quiet_NaN();
  const sv::coupling_noise noise{sv::noise_kind::philox, 1};
  const stated_verdict made = run(noise, 0, {race(noise, 0, good)}, {good, bad});
  CHECK(made.state.code == sv::errc::row_has_nan);
  CHECK(made.state.where == 1);
  CHECK(run(noise, 0, {0, 1}, {good}).state.code == sv::errc::too_few_rows);
}

TEST_CASE("coupled: two races agree as often as the formula says") {
  row_cases::generator random;
  constexpr int pairs = 6, keys = 4000;
  for (int pair = 0; pair < pairs; ++pair) {
    const row target = logits(random, 50, 1.5);
    row drafter = target;
    const row noise_of_drafter = logits(random, 50, .2 * (pair + 1));
    for (std::size_t i = 0; i < drafter.size(); ++i) drafter[i] += noise_of_drafter[i];
    const std::vector<double> p = probabilities(target), q = probabilities(drafter);
    double expected = 0;
    for (std::size_t x = 0; x < p.size(); ++x) {
      double sum = 0;
      for (std::size_t v = 0; v < p.size(); ++v) sum += std::max(p[v] / p[x], q[v] / q[x]);
      expected += 1 / sum;
    }
    int agreed = 0;
    for (std::uint64_t key = 0; key < keys; ++key) {
      const sv::coupling_noise noise{sv::noise_kind::philox, key};
      agreed += static_cast<int>(run(noise, 5, {race(noise, 5, drafter)}, {target, target}).accepted);
    }
    const double share = static_cast<double>(agreed) / keys;
    const double error = std::sqrt(expected * (1 - expected) / keys);
    CHECK(std::fabs(share - expected) < 4 * error);
  }
}
