// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/greedy.hpp>

#include <specverify/core/random.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "support/stated_verdict.hpp"

namespace sv = specverify;
using specverify_test::stated_verdict;

namespace {

template <class Policy = sv::exec::simd_policy>
stated_verdict run(std::vector<sv::token_id> tokens, const std::vector<std::vector<float>>& values,
                   sv::verify_request request = {}, const std::vector<sv::row_transform>& transforms = {{}},
                   std::size_t scratch_bytes = 0) {
  std::vector<sv::claimed_draft> drafts;
  for (const sv::token_id token : tokens) drafts.push_back({token, 0, 0});
  std::vector<sv::row_view<float>> rows;
  for (const auto& row : values) rows.push_back(sv::logits_row<float>(row));
  std::vector<std::byte> bytes(scratch_bytes);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  return sv::greedy_rule{}.verify(Policy{}, std::span<const sv::claimed_draft>(drafts),
                                  sv::row_span_provider<float>(rows, transforms), sv::uniforms<>{}, request, scratch);
}

const std::vector<std::vector<float>> path{{0, 3, 1}, {5, 1, 2}, {0, 1, 2}};  // argmax 1, 0, 2

}  // namespace

TEST_CASE("greedy: by hand: drafts stand while they are the argmax") {
  stated_verdict v = run({1, 0}, path);
  CHECK(v.accepted == 2);
  CHECK(v.next_token == 2);
  CHECK(v.source == sv::token_source::bonus);
  CHECK(v.commit_length == 3);
  v = run({1, 2}, path);
  CHECK(v.accepted == 1);
  CHECK(v.next_token == 0);
  CHECK(v.source == sv::token_source::residual);
  v = run({2, 0}, path);
  CHECK(v.accepted == 0);
  CHECK(v.next_token == 1);
  CHECK(v.counters.evaluated == 1);
  CHECK(run({}, path).next_token == 1);
}

TEST_CASE("greedy: COR-12 ties go to the smaller id and are counted") {
  const std::vector<std::vector<float>> tied{{1, 2, 2}, {0, 0, 0}};
  const stated_verdict v = run({1}, tied);
  CHECK(v.accepted == 1);
  CHECK(v.next_token == 0);
  CHECK(v.counters.near_ties == 2);
  CHECK(run({2}, tied).accepted == 0);
}

TEST_CASE("greedy: T24 the text equals the target's greedy text for every draft") {
  for (sv::token_id a = -1; a <= 3; ++a) {
    for (sv::token_id b = -1; b <= 3; ++b) {
      std::vector<sv::token_id> drafts{a, b};
      const stated_verdict v = run(drafts, path);
      REQUIRE(v.state.ok());
      std::vector<sv::token_id> text(drafts.data(), drafts.data() + v.accepted);
      text.push_back(v.next_token);
      const std::vector<sv::token_id> greedy{1, 0, 2};
      CHECK(std::equal(text.begin(), text.end(), greedy.begin()));
    }
  }
}

TEST_CASE("greedy: stop tokens, budget, forced rejects, foreign ids") {
  const std::array<sv::token_id, 1> stops{1};
  sv::verify_request request;
  request.stop_tokens = stops;
  stated_verdict v = run({1, 0}, path, request);
  CHECK(v.accepted == 1);
  CHECK(v.stop == sv::stop_reason::stop_token);
  CHECK(v.next_token == sv::no_token);
  request = {};
  request.remaining_budget = 2;
  v = run({1, 0}, path, request);
  CHECK(v.commit_length == 2);
  CHECK(v.stop == sv::stop_reason::budget);
  const std::array<std::uint8_t, 2> forced{1, 0};
  request = {};
  request.forced_rejects = forced;
  v = run({1, 0}, path, request);
  CHECK(v.accepted == 0);
  CHECK(v.next_token == 1);
  CHECK(v.source == sv::token_source::forced);
  v = run({7, 0}, path);
  CHECK(v.counters.invalid_tokens == 1);
  CHECK(v.next_token == 1);
}

TEST_CASE("greedy: PRF-5 no scratch without log-probabilities; with them one normaliser a row") {
  CHECK(run({1, 0}, path, {}, {{}}, 0).state.ok());
  std::array<double, 3> log_probabilities{};
  sv::verify_request request;
  request.log_probabilities = log_probabilities;
  CHECK(run({1, 0}, path, request).state.code == sv::errc::workspace_too_small);
  const stated_verdict v = run({1, 0}, path, request, {{}}, 1 << 14);
  CHECK(v.counters.exact_normalisers == 3);
  CHECK(std::fabs(log_probabilities[0] - (3 - std::log(std::exp(0.0) + std::exp(3.0) + std::exp(1.0)))) < 1e-12);
}

TEST_CASE("greedy: SMP-5 masks and biases decide, temperature does not") {
  const std::array<std::uint64_t, 1> mask{0b101};
  const std::array<sv::token_id, 1> biased{2};
  const std::array<float, 1> bias{9.0f};
  std::vector<sv::row_transform> transforms(3);
  transforms[0].mask_words = mask;
  transforms[1].bias_ids = biased;
  transforms[1].bias_values = bias;
  transforms[2].temperature = 0.0;
  const stated_verdict v = run({2, 2}, path, {}, transforms);
  CHECK(v.accepted == 2);
  CHECK(v.next_token == 2);
}

TEST_CASE("greedy: T28 a bad row is named") {
  const float nan = std::bit_cast<float>(0x7FC00000u);
  const std::vector<std::vector<float>> bad{{0, 3, 1}, {0, nan, 0}, {0, 1, 2}};
  const stated_verdict v = run({1, 0}, bad);
  CHECK(v.state == sv::status{sv::errc::row_has_nan, sv::part::verify, 1});
  CHECK(v.commit_length == 0);
  CHECK(run({0, 0}, bad).state.ok());  // the bad row stands after the mismatch
}

TEST_CASE("greedy: a round without a bonus token ends with its last draft; one without drafts still gives a token") {
  sv::verify_request request;
  request.bonus = false;
  stated_verdict v = run({1, 0}, path, request);
  CHECK(v.accepted == 2);
  CHECK(v.next_token == sv::no_token);
  CHECK(v.source == sv::token_source::none);
  CHECK(v.stop == sv::stop_reason::none);
  CHECK(run({1, 2}, path, request).next_token == 0);
  v = run({}, path, request);
  CHECK(v.next_token == 1);
  CHECK(v.commit_length == 1);
}
