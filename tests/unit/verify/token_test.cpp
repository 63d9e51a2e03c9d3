// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/token.hpp>

#include <specverify/testing/enumerate_law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/alloc_guard.hpp"
#include "support/stated_verdict.hpp"

namespace sv = specverify;
using specverify_test::stated_verdict;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = 1.0 - 0x1.0p-53;

//! Rows in memory that count how often each was asked for.
struct counting_rows {
  std::vector<std::vector<double>> values;
  sv::row_kind kind = sv::row_kind::probabilities;
  std::vector<sv::row_transform> transforms = std::vector<sv::row_transform>(values.size());
  mutable std::vector<int> asked = std::vector<int>(values.size(), 0);

  [[nodiscard]] sv::row_view<double> operator()(std::uint32_t index) const {
    ++asked[index];
    return {kind, values[index].data(), static_cast<std::uint32_t>(values[index].size())};
  }
  [[nodiscard]] const sv::row_transform& transform(std::uint32_t index) const { return transforms[index]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(values.size()); }
};

struct fixture {
  sv::uniform_script script{};
  std::vector<std::byte> bytes = std::vector<std::byte>(1 << 16);
  sv::verify_request request{};
  std::uint32_t trial_cap = 32;

  void accept_uniform(std::uint32_t position, double u) {
    script.set_uniform({position, 0, 0, sv::purpose::acceptance, 0}, 0, u);
  }
  template <class Draft, class Rows>
  stated_verdict run(const std::vector<Draft>& drafts, const Rows& rows) {
    sv::workspace scratch{std::span<std::byte>(bytes)};
    const stated_verdict result =
        sv::token_rule{trial_cap}.verify(sv::exec::simd, std::span<const Draft>(drafts), rows,
                                         sv::uniforms{sv::scripted_source(script), 0, 0}, request, scratch);
    CHECK(scratch.used() == 0);
    return result;
  }
};

std::vector<sv::claimed_draft> claims(std::initializer_list<sv::token_id> tokens) {
  std::vector<sv::claimed_draft> made;
  for (const sv::token_id token : tokens) made.push_back({token, 0, 0});
  return made;
}

const std::vector<double> fp16_row{0.5, 0.3, 0.2};

}  // namespace

TEST_CASE("token: by hand: a claimed token is accepted with probability p(x), else p without x") {
  const counting_rows rows{{fp16_row, {0, 1, 0}}};
  fixture with;
  with.accept_uniform(0, 0.29);
  stated_verdict v = with.run(claims({1}), rows);
  REQUIRE(v.state.ok());
  CHECK(v.accepted == 1);
  CHECK(v.next_token == 1);
  CHECK(v.source == sv::token_source::bonus);
  CHECK(v.commit_length == 2);
  CHECK(v.counters.drafted == 1);
  CHECK(v.counters.evaluated == 1);
  CHECK(v.counters.accepted == 1);
  CHECK(v.outcome == sv::verdict_outcome::decided);
  with.accept_uniform(0, 0.31);
  v = with.run(claims({1}), rows);
  CHECK(v.accepted == 0);
  CHECK(v.commit_length == 1);
  CHECK(v.source == sv::token_source::residual);
  CHECK((v.next_token == 0 || v.next_token == 2));
  CHECK(v.counters.residual_trials >= 1);
}

TEST_CASE("token: by hand: a drawn token is accepted iff U count < resolution p") {
  const std::array<sv::token_id, 2> ids{0, 1};
  const std::array<std::uint32_t, 2> counts{1, 3};
  const sv::law law{ids.data(), counts.data(), 2, 0, 4, 3};
  const counting_rows rows{{fp16_row, fp16_row}};
  fixture with;
  with.script.set_uniform({0, 0, 0, sv::purpose::draft_draw, 0}, 0, 0.25);  // integer 1: the first of token 1
  const sv::draft drawn =
      sv::draw(law, sv::uniforms{sv::scripted_source(with.script), 0, 0}.at(sv::purpose::draft_draw));
  REQUIRE(drawn.token() == 1);
  for (const double u : {0.0, 0.1, 0.3999, 0.4001, 0.9, largest}) {  // p / q = 0.4
    with.accept_uniform(0, u);
    CHECK(with.run(std::vector<sv::draft>{drawn}, rows).accepted == (u < 0.4 ? 1u : 0u));
  }
  with.accept_uniform(0, largest);
  // the residual has nothing at the rejected token
  CHECK(with.run(std::vector<sv::draft>{drawn}, rows).next_token != 1);
}

TEST_CASE("COR-6 E32 p = 0 is never accepted, p >= q always: u in {0, smallest, 1 - ulp, largest}") {
  for (const double u : {0.0, 0x1.0p-53, 0.5, 1.0 - 0x1.0p-52, largest}) {
    fixture with;
    with.accept_uniform(0, u);
    const counting_rows zero{{{0.75, 0.25, 0.0}, fp16_row}};
    const stated_verdict v = with.run(claims({2}), zero);
    INFO("u = ", u);
    const bool impossible_token_accepted = v.accepted != 0 || v.next_token == 2;
    CHECK_FALSE(impossible_token_accepted);
    const counting_rows masked{{{0.0, -infinity, -infinity}, {0, 0, 0}}, sv::row_kind::logits};
    CHECK(with.run(claims({1}), masked).accepted == 0);
    CHECK(with.run(claims({0}), masked).accepted == 1);
    const counting_rows certain{{{0.0, 1.0, 0.0}, fp16_row}};
    CHECK(with.run(claims({1}), certain).accepted == 1);
    const double denormal = std::numeric_limits<double>::denorm_min();
    const counting_rows tiny{{{1.0, denormal, 0.0}, fp16_row}};
    const volatile double kept = denormal;  // with -ffast-math the processor may flush it to 0: then p = 0
    CHECK(with.run(claims({1}), tiny).accepted == (u == 0.0 && kept * 1.0 > 0.0 ? 1u : 0u));
  }
}

TEST_CASE("COR-7 PRF-2 rows after the first rejection are not asked for, each row once") {
  const counting_rows rows{{fp16_row, fp16_row, fp16_row, fp16_row}};
  fixture with;
  std::array<sv::status, 4> states{};
  with.request.row_states = states;
  with.accept_uniform(1, largest);
  const stated_verdict v = with.run(claims({0, 1, 2}), rows);
  CHECK(v.accepted == 1);
  CHECK(v.counters.evaluated == 2);
  CHECK(rows.asked == std::vector<int>{1, 1, 0, 0});
  CHECK(states[0].ok());
  CHECK(states[1].ok());
  CHECK(states[2] == sv::status{sv::errc::not_read, sv::part::verify, 2});
  CHECK(states[3] == sv::status{sv::errc::not_read, sv::part::verify, 3});
}

TEST_CASE("COR-13 E4 stop tokens and budget: stop beats the length cap, no bonus after an accepted stop") {
  const counting_rows rows{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}}};
  const std::array<sv::token_id, 1> stops{1};
  fixture with;
  stated_verdict v = with.run(claims({0, 1, 2}), rows);
  CHECK(v.commit_length == 4);
  CHECK(v.stop == sv::stop_reason::none);
  with.request.stop_tokens = stops;
  v = with.run(claims({0, 1, 2}), rows);
  CHECK(v.accepted == 2);
  CHECK(v.commit_length == 2);
  CHECK(v.next_token == sv::no_token);
  CHECK(v.source == sv::token_source::none);
  CHECK(v.stop == sv::stop_reason::stop_token);
  with.request.remaining_budget = 2;  // the stop token is the last that fits
  CHECK(with.run(claims({0, 1, 2}), rows).stop == sv::stop_reason::stop_token);
  with.request.stop_tokens = {};
  v = with.run(claims({0, 1, 2}), rows);
  CHECK(v.commit_length == 2);
  CHECK(v.stop == sv::stop_reason::budget);
  CHECK(v.next_token == sv::no_token);
  with.request.remaining_budget = 4;
  v = with.run(claims({0, 1, 2}), rows);
  CHECK(v.commit_length == 4);
  CHECK(v.stop == sv::stop_reason::budget);
  with.request.remaining_budget = 0;
  v = with.run(claims({0, 1, 2}), rows);
  CHECK(v.state.ok());
  CHECK(v.commit_length == 0);
  CHECK(v.stop == sv::stop_reason::budget);
  with.request.remaining_budget = 9;
  with.request.stop_tokens = stops;
  v = with.run(claims({0, 0}), rows);  // the resampled token stops too
  CHECK(v.next_token == 1);
  CHECK(v.stop == sv::stop_reason::stop_token);
}

TEST_CASE("VOC-6 VOC-1 ids outside the target's vocabulary are rejected and counted; -1 ends the drafts") {
  fixture with;
  for (const sv::token_id foreign :
       {3, 4, 1000000, std::numeric_limits<sv::token_id>::max(), -2, std::numeric_limits<sv::token_id>::min()}) {
    const counting_rows rows{{fp16_row, fp16_row}};
    const stated_verdict v = with.run(claims({foreign}), rows);
    CHECK(v.state.ok());
    CHECK(v.accepted == 0);
    CHECK(v.counters.invalid_tokens == 1);
    CHECK((v.next_token >= 0 && v.next_token < 3));
  }
  const counting_rows rows{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const stated_verdict v = with.run(claims({0, -1, 2}), rows);
  CHECK(v.counters.drafted == 1);
  CHECK(v.accepted == 1);
  CHECK(v.next_token == 1);
  CHECK(rows.asked == std::vector<int>{1, 1, 0});
}

TEST_CASE("VOC-1 a law over a larger vocabulary: its padded ids are never used as an index") {
  const std::array<sv::token_id, 3> ids{0, 2, 200000};
  const std::array<std::uint32_t, 3> counts{1, 1, 2};
  const sv::law law{ids.data(), counts.data(), 3, 0, 4, 262144};
  fixture with;
  with.script.set_uniform({0, 0, 0, sv::purpose::draft_draw, 0}, 0, 0.75);
  const sv::draft drawn =
      sv::draw(law, sv::uniforms{sv::scripted_source(with.script), 0, 0}.at(sv::purpose::draft_draw));
  REQUIRE(drawn.token() == 200000);
  const counting_rows rows{{fp16_row, fp16_row}};
  const stated_verdict v = with.run(std::vector<sv::draft>{drawn}, rows);
  CHECK(v.counters.invalid_tokens == 1);
  CHECK(v.next_token == 0);
}

TEST_CASE("T27 zero residual, one-hot against one-hot, p equal to q bit for bit, rows off by 1e-3") {
  const std::array<sv::token_id, 2> ids{0, 1};
  const std::array<std::uint32_t, 2> counts{1, 1};
  const sv::law even{ids.data(), counts.data(), 2, 0, 2, 2};
  fixture with;
  const sv::draft drawn =
      sv::draw(even, sv::uniforms{sv::scripted_source(with.script), 0, 0}.at(sv::purpose::draft_draw));
  with.accept_uniform(0, largest);
  const counting_rows equal{{{0.5, 0.5}, {0.5, 0.5}}};
  CHECK(with.run(std::vector<sv::draft>{drawn}, equal).accepted == 1);
  for (const double scale : {0.999, 1.001}) {  // rows that do not sum to 1: p = q after normalization
    const counting_rows off{{{0.5 * scale, 0.5 * scale}, {0.5, 0.5}}};
    const stated_verdict v = with.run(std::vector<sv::draft>{drawn}, off);
    CHECK(v.state.ok());
    CHECK(v.commit_length >= 1);
    CHECK((v.next_token == 0 || v.next_token == 1));
  }
  const counting_rows same{{{0, 1, 0}, {1, 0, 0}}};
  CHECK(with.run(claims({1}), same).accepted == 1);
  const stated_verdict other = with.run(claims({2}), same);
  CHECK(other.accepted == 0);
  CHECK(other.next_token == 1);
}

TEST_CASE("NUM-6 a residual with no usable mass falls back to p, says so, and never gives an impossible id") {
  // p and q differ by less than rounding; a rejection can only come from a forced test, so the fallback is provoked
  // with U near 1.
  const std::array<sv::token_id, 3> ids{0, 1, 2};
  const std::array<std::uint32_t, 3> counts{1, 1, 1};
  const sv::law third{ids.data(), counts.data(), 3, 0, 3, 4};
  fixture with;
  for (const double epsilon : {0.0, 1e-16, 1e-13}) {
    const counting_rows rows{{{1.0 / 3 - epsilon, 1.0 / 3, 1.0 / 3 + epsilon, 0.0}, {0.25, 0.25, 0.25, 0.25}}};
    const sv::draft drawn =
        sv::draw(third, sv::uniforms{sv::scripted_source(with.script), 0, 0}.at(sv::purpose::draft_draw));
    with.accept_uniform(0, largest);
    const stated_verdict v = with.run(std::vector<sv::draft>{drawn}, rows);
    CHECK(v.state.ok());
    CHECK(v.commit_length >= 1);
    CHECK((v.next_token >= 0 && v.next_token < 4));
    if (v.source == sv::token_source::residual_fallback) CHECK(v.counters.residual_fallbacks == 1);
    if (v.accepted == 0) CHECK(v.next_token != 3);
  }
}

TEST_CASE("T28 NUM-1 a bad row gives a status that names it and leaves everything else as it was") {
  const double nan = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u});
  struct bad {
    std::vector<double> row;
    sv::errc code;
  };
  for (const bad& b :
       {bad{{0.0, nan, 0.0}, sv::errc::row_has_nan}, bad{{0.0, infinity, 0.0}, sv::errc::row_has_positive_infinity},
        bad{{-infinity, -infinity, -infinity}, sv::errc::row_is_empty}}) {
    const counting_rows rows{{{0, 0, 0}, b.row, {0, 0, 0}}, sv::row_kind::logits};
    fixture with;
    std::array<double, 3> log_probabilities{7, 7, 7};
    std::array<sv::status, 3> states{};
    with.request.log_probabilities = log_probabilities;
    with.request.row_states = states;
    const stated_verdict v = with.run(claims({1, 1}), rows);
    CHECK(v.state == sv::status{b.code, sv::part::verify, 1});
    CHECK(v.next_token == sv::no_token);
    CHECK(v.accepted == 0);
    CHECK(v.commit_length == 0);
    CHECK(v.counters.evaluated == 0);
    CHECK(log_probabilities == std::array<double, 3>{7, 7, 7});
    CHECK(states[0].ok());
    CHECK(states[1].code == b.code);
    CHECK(states[2].code == sv::errc::not_read);
    CHECK(rows.asked == std::vector<int>{1, 1, 0});
  }
  fixture with;
  const counting_rows negative{{{1.5, -0.5, 0.0}, fp16_row}};
  CHECK(with.run(claims({0}), negative).state == sv::status{sv::errc::row_is_negative, sv::part::verify, 0});
  const counting_rows unnormalised{{{0.5, 0.3, 0.3}, fp16_row}};
  CHECK(with.run(claims({0}), unnormalised).state.code == sv::errc::row_not_normalised);
  const counting_rows bonus{{{1, 0, 0}, {0, 0, 0}}};
  CHECK(with.run(claims({0}), bonus).state == sv::status{sv::errc::row_is_empty, sv::part::verify, 1});
  counting_rows cold{{fp16_row, fp16_row}, sv::row_kind::logits};
  cold.transforms[0].temperature = -1;
  CHECK(with.run(claims({0}), cold).state.code == sv::errc::invalid_temperature);
}

TEST_CASE("token: requests that do not fit are refused before a row is read") {
  const counting_rows rows{{fp16_row, fp16_row}};
  fixture with;
  CHECK(with.run(claims({0, 1}), rows).state == sv::status{sv::errc::too_few_rows, sv::part::verify, 2});
  std::array<double, 1> short_span{};
  with.request.log_probabilities = short_span;
  CHECK(with.run(claims({0}), rows).state.code == sv::errc::output_too_small);
  with.request.log_probabilities = {};
  std::array<sv::status, 1> short_states{};
  with.request.row_states = short_states;
  CHECK(with.run(claims({0}), rows).state.code == sv::errc::output_too_small);
  with.request.row_states = {};
  const std::array<std::uint8_t, 1> forced{0};
  with.request.forced_rejects = forced;
  CHECK(with.run(claims({0, 1}), rows).state.code == sv::errc::size_mismatch);
  with.request.forced_rejects = {};
  CHECK(with.run(std::vector<sv::claimed_draft>{{0, 5, 4}}, rows).state ==
        sv::status{sv::errc::invalid_resolution, sv::part::verify, 0});
  CHECK(rows.asked[1] == 0);
  with.bytes.resize(70);
  CHECK(with.run(claims({0}), rows).state.code == sv::errc::workspace_too_small);
}

TEST_CASE("token: a count without its law is tested, and a rejection is deferred to whoever knows the law") {
  const counting_rows rows{{fp16_row, fp16_row}};
  fixture with;
  const std::vector<sv::claimed_draft> counted{{1, 3, 4}};
  with.accept_uniform(0, 0.39);
  CHECK(with.run(counted, rows).accepted == 1);
  with.accept_uniform(0, 0.41);
  const stated_verdict v = with.run(counted, rows);
  CHECK(v.state.ok());
  CHECK(v.outcome == sv::verdict_outcome::deferred);
  CHECK(v.next_token == sv::no_token);
  CHECK(v.commit_length == 0);
}

TEST_CASE("SMP-10 log-probabilities of the committed tokens, and an exact normaliser only for them") {
  std::vector<double> logits(5000, -9.0);
  logits[17] = 4.0;
  logits[99] = 3.0;
  const counting_rows rows{{logits, logits, logits}, sv::row_kind::logits};
  fixture with;
  with.accept_uniform(0, 0.2);  // far from any margin: p(17) is about 0.6
  with.accept_uniform(1, 0.9);
  stated_verdict v = with.run(claims({17, 99}), rows);
  CHECK(v.accepted == 1);
  CHECK(v.counters.exact_normalisers == 0);
  std::array<double, 3> log_probabilities{7, 7, 7};
  with.request.log_probabilities = log_probabilities;
  v = with.run(claims({17, 99}), rows);
  CHECK(v.accepted == 1);
  CHECK(v.counters.exact_normalisers == 2);
  const double log_z = std::log(std::exp(4.0) + std::exp(3.0) + 4998 * std::exp(-9.0));
  CHECK(std::fabs(log_probabilities[0] - (4.0 - log_z)) <= 1e-12);
  CHECK(std::fabs(log_probabilities[1] - (logits[static_cast<std::size_t>(v.next_token)] - log_z)) <= 1e-12);
  CHECK(log_probabilities[2] == 7);
}

TEST_CASE("COR-5 DET-1 inputs stay as they are, and a second call gives the same verdict") {
  const counting_rows rows{{fp16_row, fp16_row, fp16_row}};
  const std::vector<std::vector<double>> before = rows.values;
  std::vector<std::byte> bytes(1 << 14);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const sv::philox source{{{1, 2}}};
  const auto drafts = claims({0, 1});
  for (std::uint32_t position = 0; position < 50; ++position) {
    const sv::uniforms random{source, position, 0};
    const stated_verdict once =
        sv::token_rule{}.verify(sv::exec::simd, std::span<const sv::claimed_draft>(drafts), rows, random, {}, scratch);
    const stated_verdict twice =
        sv::token_rule{}.verify(sv::exec::simd, std::span<const sv::claimed_draft>(drafts), rows, random, {}, scratch);
    CHECK(once.next_token == twice.next_token);
    CHECK(once.accepted == twice.accepted);
  }
  CHECK(rows.values == before);
}

TEST_CASE("PKG-2 a verdict allocates nothing and throws nothing, whatever it decides") {
  const counting_rows rows{{fp16_row, fp16_row, fp16_row}};
  const auto drafts = claims({0, 1});
  std::vector<std::byte> bytes(1 << 14);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const sv::philox source{{{3, 4}}};
  std::array<double, 3> log_probabilities{};
  sv::verify_request request;
  request.log_probabilities = log_probabilities;
  static_assert(noexcept(sv::token_rule{}.verify(sv::exec::simd, std::span<const sv::claimed_draft>(drafts), rows,
                                                 sv::uniforms{source, 0, 0}, request, scratch)));
  const specverify_test::alloc_guard guard;
  std::uint32_t committed = 0;
  for (std::uint32_t round = 0; round < 200; ++round) {
    committed += sv::token_rule{1 + round % 3}
                     .verify(sv::exec::simd, std::span<const sv::claimed_draft>(drafts), rows,
                             sv::uniforms{source, 0, round}, request, scratch)
                     ->commit_length;
  }
  CHECK(guard.count() == 0);
  CHECK(committed > 200);
}

TEST_CASE("token: the scratch size is enough to the byte, for truncated rows too") {
  std::vector<double> logits(300, 0.0);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<double>(i)) * 3;
  counting_rows rows{{logits, logits}, sv::row_kind::logits};
  for (const std::uint32_t top_k : {0u, 20u}) {
    for (sv::row_transform& transform : rows.transforms) {
      transform.truncation.top_k = top_k;
      transform.truncation.top_p = top_k == 0 ? 1.0 : 0.9;
    }
    fixture with;
    std::array<double, 2> log_probabilities{};
    with.request.log_probabilities = log_probabilities;
    with.bytes.resize(sv::verify_workspace_size(300, rows.transforms[0], 1));
    CHECK(with.run(claims({0}), rows).state.ok());
  }
}
