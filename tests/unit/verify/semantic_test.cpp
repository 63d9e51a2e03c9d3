// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/semantic.hpp>

#include <specverify/core/random.hpp>
#include <specverify/verify/greedy.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "support/alloc_guard.hpp"
#include "support/stated_verdict.hpp"

namespace sv = specverify;
using specverify_test::stated_verdict;

namespace {

using ids = std::vector<sv::token_id>;

//! Scores by draft index; writes down whom it was asked about.
struct table_scorer {
  std::span<const double> scores;
  ids* asked;
  [[nodiscard]] sv::result<double> score(std::uint32_t index) const noexcept {
    if (asked != nullptr) asked->push_back(static_cast<sv::token_id>(index));
    return scores[index];
  }
};
static_assert(sv::mismatch_scorer<table_scorer>);
static_assert(sv::acceptance_rule<sv::semantic_rule<table_scorer>, sv::exec::seq_policy, sv::claimed_draft,
                                  sv::row_span_provider<float>, sv::philox>);
static_assert(sv::semantic_rule<table_scorer>::strength == sv::guarantee::lossy);
static_assert(sv::combined_guarantee<sv::semantic_rule<table_scorer>, sv::claimed_draft> == sv::guarantee::lossy);

//! One round with everything that a request can say.
struct scene {
  std::vector<std::vector<float>> values{};
  std::vector<sv::row_transform> transforms{};
  std::vector<sv::claimed_draft> drafts{};
  std::vector<std::uint64_t> mask{};
  ids stops{}, biased{};
  std::vector<float> bias{};
  std::vector<std::uint8_t> forced{};
  std::vector<double> scores{};
  sv::verify_request request{};
  std::vector<sv::row_view<float>> views{};

  [[nodiscard]] sv::row_span_provider<float> rows() const { return {views, transforms}; }
  [[nodiscard]] std::span<const sv::claimed_draft> tokens() const { return drafts; }
};

std::size_t argmax_of(const scene& in, std::size_t row) {
  std::size_t best = in.values[row].size();
  float top = 0;
  for (std::size_t v = 0; v < in.values[row].size(); ++v) {
    float z = in.values[row][v];
    if (!in.mask.empty() && (in.mask[0] >> v & 1) == 0) continue;
    if (!in.biased.empty() && static_cast<std::size_t>(in.biased[0]) == v) z += in.bias[0];
    if (best == in.values[row].size() || z > top) {
      best = v;
      top = z;
    }
  }
  return best;
}

void fill(std::uint32_t seed, scene& made) {
  std::minstd_rand bits(seed * 7919 + 1);
  bits.discard(8);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(bits() >> 8) % bound; };
  const std::uint32_t vocab = 2 + below(7), length = below(7);
  for (std::uint32_t i = 0; i <= length; ++i) {
    std::vector<float> row(vocab);
    for (float& z : row) z = static_cast<float>(below(9)) - 4.0f;  // coarse: ties are frequent
    made.values.push_back(row);
  }
  if (below(3) == 0) made.mask = {(bits() | std::uint64_t{1} << below(vocab)) & ((std::uint64_t{1} << vocab) - 1)};
  if (!made.mask.empty() && made.mask[0] == 0) made.mask[0] = 1;
  if (below(3) == 0) {
    made.biased = {static_cast<sv::token_id>(below(vocab))};
    made.bias = {below(2) == 0 ? 2.0f : -1.5f};
  }
  sv::row_transform transform;
  transform.mask_words = made.mask;
  transform.bias_ids = made.biased;
  transform.bias_values = made.bias;
  transform.temperature = below(2);
  made.transforms = {transform};
  for (std::uint32_t i = 0; i < length; ++i) {
    auto token = static_cast<sv::token_id>(argmax_of(made, i));
    if (below(2) == 0) token = static_cast<sv::token_id>(below(vocab));
    if (below(20) == 0) token = static_cast<sv::token_id>(vocab + below(3));
    if (below(30) == 0) token = -2;
    if (below(20) == 0) token = sv::no_token;
    made.drafts.push_back({token, 0, 0});
    made.scores.push_back(static_cast<double>(below(11)) / 10);
  }
  if (below(4) == 0) made.stops = {static_cast<sv::token_id>(below(vocab))};
  if (below(4) == 0) {
    for (std::uint32_t i = 0; i < length; ++i) made.forced.push_back(below(6) == 0 ? 1 : 0);
  }
  if (below(4) == 0) made.request.remaining_budget = below(length + 2);
  made.request.bonus = below(4) != 0;
  made.request.stop_tokens = made.stops;
  made.request.forced_rejects = made.forced;
  for (const auto& row : made.values) made.views.push_back(sv::logits_row<float>(row));
}

//! Two steps apart, with as many scores as are asked for, one at a time.
stated_verdict two_steps(const scene& in, double threshold, std::vector<double>* given = nullptr) {
  const auto length = static_cast<std::uint32_t>(in.drafts.size());
  ids best(length + 1);
  std::vector<std::uint64_t> marks(sv::position_words(length)), ties(sv::position_words(length));
  const sv::status compared =
      sv::compare_greedily(sv::exec::seq, in.tokens(), in.rows(), in.request, {best, marks, ties});
  if (!compared.ok()) return compared;
  std::vector<double> scores;
  for (;;) {
    const stated_verdict said = sv::decide_semantically(in.tokens(), {best, marks, ties}, scores, threshold, in.request,
                                                        static_cast<std::uint32_t>(in.values[0].size()));
    if (said.outcome != sv::verdict_outcome::needs) {
      if (given != nullptr) *given = scores;
      return said;
    }
    CHECK(said.commit_length == 0);
    CHECK(said.next_token == sv::no_token);
    REQUIRE(sv::has_position(marks, said.accepted));
    scores.push_back(in.scores[said.accepted]);
  }
}

stated_verdict joined(const scene& in, double threshold, ids* asked = nullptr, std::span<sv::status> states = {}) {
  sv::verify_request request = in.request;
  request.row_states = states;
  sv::workspace none;
  return sv::semantic_rule<table_scorer>{{in.scores, asked}, threshold}.verify(sv::exec::simd, in.tokens(), in.rows(),
                                                                               sv::uniforms<>{}, request, none);
}

stated_verdict greedy(const scene& in, std::span<sv::status> states = {}) {
  sv::verify_request request = in.request;
  request.row_states = states;
  sv::workspace none;
  return sv::greedy_rule{}.verify(sv::exec::simd, in.tokens(), in.rows(), sv::uniforms<>{}, request, none);
}

//! Every field but the two counters that only the semantic rule has.
bool same(const stated_verdict& a, const stated_verdict& b, bool near_ties = true) {
  return a.state == b.state && a.outcome == b.outcome && a.source == b.source && a.stop == b.stop &&
         a.accepted == b.accepted && a.next_token == b.next_token && a.commit_length == b.commit_length &&
         a.counters.drafted == b.counters.drafted && a.counters.evaluated == b.counters.evaluated &&
         a.counters.accepted == b.counters.accepted && (!near_ties || a.counters.near_ties == b.counters.near_ties) &&
         a.counters.forced_rejects == b.counters.forced_rejects &&
         a.counters.invalid_tokens == b.counters.invalid_tokens &&
         a.counters.residual_fallbacks == b.counters.residual_fallbacks &&
         a.counters.residual_trials == b.counters.residual_trials &&
         a.counters.exact_normalisers == b.counters.exact_normalisers;
}

//! By the definition: which draft ends the round.
ids committed_by_definition(const scene& in, double threshold) {
  ids text;
  const std::size_t budget = in.request.remaining_budget;
  const auto stop = [&](sv::token_id token) { return !in.stops.empty() && token == in.stops[0]; };
  for (std::size_t i = 0; text.size() < budget; ++i) {
    const bool past = i >= in.drafts.size() || in.drafts[i].token == sv::no_token;
    if (past && !in.request.bonus && i > 0) break;
    const auto top = static_cast<sv::token_id>(argmax_of(in, i));
    const sv::token_id token = past ? top : in.drafts[i].token;
    const bool known = token >= 0 && token < static_cast<sv::token_id>(in.values[i].size());
    const bool possible = known && (in.mask.empty() || (in.mask[0] >> token & 1) != 0);
    const bool stands =
        !past && (in.forced.empty() || in.forced[i] == 0) && (token == top || (possible && in.scores[i] < threshold));
    text.push_back(stands ? token : top);
    if (!stands || stop(token)) break;
  }
  return text;
}

ids committed(const scene& in, const stated_verdict& said) {
  ids text;
  for (std::uint32_t i = 0; i < said.accepted; ++i) text.push_back(in.drafts[i].token);
  if (said.next_token != sv::no_token) text.push_back(said.next_token);
  CHECK(text.size() == said.commit_length);
  return text;
}

//! argmax 1, 0, 2, 1; the drafts differ at 1 and 2.
scene by_hand() {
  scene made;
  made.values = {{0, 3, 1}, {5, 1, 2}, {0, 1, 2}, {0, 7, 2}};
  made.transforms = {{}};
  made.drafts = {{1, 0, 0}, {2, 0, 0}, {1, 0, 0}};
  made.scores = {0.0, 0.3, 0.6};
  return made;
}

void link(scene& made) {
  for (const auto& row : made.values) made.views.push_back(sv::logits_row<float>(row));
}

constexpr std::uint32_t worlds = 4000;

}  // namespace

TEST_CASE("semantic: by hand: a mismatch below the threshold stands, the first one at it is replaced") {
  scene in = by_hand();
  link(in);
  stated_verdict said = joined(in, 0.5);
  CHECK(said.accepted == 2);
  CHECK(said.next_token == 2);
  CHECK(said.source == sv::token_source::residual);
  CHECK(said.counters.mismatches == 2);
  CHECK(said.counters.accepted_mismatches == 1);
  CHECK(said.counters.accepted_score == 0.3);
  CHECK(said.counters.largest_accepted_score == 0.3);
  CHECK(said.counters.evaluated == 3);
  said = joined(in, 0.3);  // rho >= tau rejects
  CHECK(said.accepted == 1);
  CHECK(said.next_token == 0);
  said = joined(in, 0.61);
  CHECK(said.accepted == 3);
  CHECK(said.next_token == 1);
  CHECK(said.source == sv::token_source::bonus);
}

TEST_CASE("semantic: T24 tau = 0 is greedy_rule bit for bit") {
  for (std::uint32_t seed = 0; seed < worlds; ++seed) {
    scene in;
    fill(seed, in);
    CAPTURE(seed);
    for (const double tau : {0.0, -1.0}) {
      std::vector<sv::status> ours(in.values.size()), theirs(in.values.size());
      const stated_verdict expected = greedy(in, theirs);
      const stated_verdict said = joined(in, tau, nullptr, ours);
      REQUIRE(said.state.ok());
      CHECK(same(said, expected));
      CHECK(ours == theirs);
      CHECK(said.counters.accepted_mismatches == 0);
      CHECK(said.counters.accepted_score == 0);
      CHECK(said.counters.largest_accepted_score == 0);
      CHECK(same(two_steps(in, tau), expected));
    }
  }
}

TEST_CASE("semantic: T24 tau > 1 accepts every draft that the target could emit") {
  std::uint32_t whole = 0;
  for (std::uint32_t seed = 0; seed < worlds; ++seed) {
    scene in;
    fill(seed, in);
    in.forced.clear();
    in.stops.clear();
    in.request = {};
    CAPTURE(seed);
    std::uint32_t length = 0;
    while (length < in.drafts.size()) {
      const sv::token_id token = in.drafts[length].token;
      if (token < 0 || token >= static_cast<sv::token_id>(in.values[0].size()) ||
          (!in.mask.empty() && (in.mask[0] >> token & 1) == 0))
        break;
      ++length;
    }
    const stated_verdict said = joined(in, 1.0 + 1e-9);
    CHECK(said.accepted == length);
    CHECK(same(two_steps(in, 2.0), said));
    whole += said.source == sv::token_source::bonus ? 1u : 0u;
  }
  CHECK(whole > worlds / 4);
}

TEST_CASE("semantic: the two steps and the rule agree with the definition at every threshold") {
  for (std::uint32_t seed = 0; seed < worlds; ++seed) {
    scene in;
    fill(seed, in);
    const double tau = 0.05 + 0.1 * (seed % 11);
    CAPTURE(seed);
    const stated_verdict said = joined(in, tau);
    REQUIRE(said.state.ok());
    CHECK(committed(in, said) == committed_by_definition(in, tau));
    std::vector<double> given;
    const stated_verdict apart = two_steps(in, tau, &given);
    CHECK(same(apart, said));
    CHECK(apart.counters.mismatches == said.counters.mismatches);
    CHECK(apart.counters.accepted_mismatches == said.counters.accepted_mismatches);
    CHECK(given.size() == said.counters.mismatches);
  }
}

TEST_CASE(
    "COR-11 semantic: a verdict says what it spent, the sum and the largest of the accepted scores, and none reaches "
    "the threshold") {
  std::uint32_t spending = 0;
  for (std::uint32_t seed = 0; seed < worlds; ++seed) {
    scene in;
    fill(seed, in);
    const double tau = 0.05 + 0.1 * (seed % 11);
    CAPTURE(seed);
    std::vector<double> given;
    const stated_verdict apart = two_steps(in, tau, &given), said = joined(in, tau);
    double sum = 0, largest = 0;
    for (const double score : given) {
      if (score >= tau) continue;
      sum += score;
      largest = std::max(largest, score);
    }
    for (const stated_verdict& one : {apart, said}) {
      CHECK(one.counters.accepted_score == doctest::Approx(sum).epsilon(1e-15));
      CHECK(one.counters.largest_accepted_score == largest);
      CHECK(one.counters.largest_accepted_score < tau);
    }
    spending += sum > 0 ? 1u : 0u;
  }
  CHECK(spending > worlds / 10);
}

TEST_CASE("semantic: T24 positions that match never reach the scorer, nor do drafts that the target cannot emit") {
  std::uint32_t asked_at_all = 0;
  for (std::uint32_t seed = 0; seed < worlds; ++seed) {
    scene in;
    fill(seed, in);
    CAPTURE(seed);
    ids asked;
    const stated_verdict said = joined(in, 0.7, &asked);
    CHECK(asked.size() == said.counters.mismatches);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto index = static_cast<std::size_t>(asked[i]);
      const sv::token_id token = in.drafts[index].token;
      CHECK(token != static_cast<sv::token_id>(argmax_of(in, index)));
      CHECK(token >= 0);
      CHECK(token < static_cast<sv::token_id>(in.values[index].size()));
      CHECK((in.mask.empty() || (in.mask[0] >> token & 1) != 0));
      CHECK((i == 0 || asked[i] > asked[i - 1]));
      CHECK(index <= said.accepted);
    }
    asked_at_all += asked.empty() ? 0u : 1u;
  }
  CHECK(asked_at_all > worlds / 4);
}

TEST_CASE("semantic: a minus infinity bias forbids a draft whatever the scorer says") {
  scene in = by_hand();
  in.biased = {2};
  in.bias = {-std::bit_cast<float>(0x7F800000u)};
  in.transforms[0].bias_ids = in.biased;
  in.transforms[0].bias_values = in.bias;
  link(in);
  const stated_verdict said = joined(in, 2.0);
  CHECK(said.accepted == 1);
  CHECK(said.next_token == 0);
  CHECK(said.counters.mismatches == 0);
  CHECK(same(two_steps(in, 2.0), said));
}

TEST_CASE("semantic: step 1 marks what a scorer decides and reads no row that cannot matter") {
  scene in = by_hand();
  in.stops = {2};
  in.request.stop_tokens = in.stops;
  link(in);
  ids best(4);
  std::array<std::uint64_t, 1> marks{};
  std::array<sv::status, 4> states{};
  in.request.row_states = states;
  REQUIRE(sv::compare_greedily(sv::exec::simd, in.tokens(), in.rows(), in.request, {best, marks}).ok());
  CHECK(best == ids{1, 0, -1, -1});  // draft 1 is a stop token
  CHECK(marks[0] == 0b010);
  CHECK(states[1].ok());
  CHECK(states[2].code == sv::errc::not_read);
  in.request.stop_tokens = {};
  REQUIRE(sv::compare_greedily(sv::exec::simd, in.tokens(), in.rows(), in.request, {best, marks}).ok());
  CHECK(best == ids{1, 0, 2, 1});
  CHECK(marks[0] == 0b110);
  CHECK(sv::position_count(marks) == 2);
  CHECK(sv::next_position(marks, 0) == 1);
  CHECK(sv::next_position(marks, 2) == 2);
  CHECK(sv::next_position(marks, 3) == 64);
  const stated_verdict said = sv::decide_semantically(in.tokens(), {best, marks}, {}, 0.5, in.request);
  CHECK(said.outcome == sv::verdict_outcome::needs);
  CHECK(said.accepted == 1);
  CHECK(said.commit_length == 0);
}

TEST_CASE("semantic: long windows use more than one word of marks") {
  scene in;
  in.transforms = {{}};
  for (std::size_t i = 0; i <= 130; ++i) in.values.push_back({0, 1});
  for (std::size_t i = 0; i < 130; ++i) in.drafts.push_back({i == 3 || i == 64 || i == 127 || i == 129 ? 0 : 1, 0, 0});
  in.scores.assign(130, 0.25);
  link(in);
  std::vector<double> given;
  const stated_verdict said = two_steps(in, 0.5, &given);
  CHECK(said.accepted == 130);
  CHECK(given.size() == 4);
  in.scores[127] = 0.5;
  CHECK(two_steps(in, 0.5).accepted == 127);
}

TEST_CASE("semantic: errors name the row, the draft, the score") {
  scene in = by_hand();
  link(in);
  const double nan = std::bit_cast<double>(0x7FF8000000000000u);
  CHECK(joined(in, nan).state == sv::status{sv::errc::invalid_argument, sv::part::verify, 0});
  in.scores = {0, 0.1, nan};
  CHECK(joined(in, 0.5).state == sv::status{sv::errc::invalid_argument, sv::part::verify, 2});
  ids best(4);
  std::array<std::uint64_t, 1> marks{};
  std::array<double, 2> scores{0.1, 1.5};
  REQUIRE(sv::compare_greedily(sv::exec::simd, in.tokens(), in.rows(), in.request, {best, marks}).ok());
  CHECK(sv::decide_semantically(in.tokens(), {best, marks}, scores, 0.5, in.request).error() ==
        sv::status{sv::errc::invalid_argument, sv::part::verify, 1});
  CHECK(sv::decide_semantically(in.tokens(), {best, marks}, scores, nan, in.request).error().code ==
        sv::errc::invalid_argument);
  CHECK(sv::decide_semantically(in.tokens(), {std::span(best).first(3), marks}, scores, 0.5, in.request).error().code ==
        sv::errc::output_too_small);
  CHECK(sv::decide_semantically(in.tokens(), {best, {}}, scores, 0.5, in.request).error().code ==
        sv::errc::output_too_small);
  best[1] = sv::no_token;
  CHECK(sv::decide_semantically(in.tokens(), {best, marks}, scores, 0.5, in.request).error() ==
        sv::status{sv::errc::not_read, sv::part::verify, 1});
  CHECK(sv::compare_greedily(sv::exec::simd, in.tokens(), in.rows(), in.request, {std::span(best).first(3), marks})
            .code == sv::errc::output_too_small);
  CHECK(sv::compare_greedily(sv::exec::simd, in.tokens(), in.rows(), in.request, {best, {}}).code ==
        sv::errc::output_too_small);
  std::array<double, 4> log_probabilities{};
  in.request.log_probabilities = log_probabilities;
  CHECK(sv::compare_greedily(sv::exec::simd, in.tokens(), in.rows(), in.request, {best, marks}).code ==
        sv::errc::unsupported);
  in.request = {};
  in.values[2][1] = std::bit_cast<float>(0x7FC00000u);
  in.scores = {0, 0.1, 0.1};
  CHECK(joined(in, 2.0).state == sv::status{sv::errc::row_has_nan, sv::part::verify, 2});
  CHECK(joined(in, 0.1).state.ok());  // the bad row stands after the rejection
  CHECK(two_steps(in, 0.1).state == sv::status{sv::errc::row_has_nan, sv::part::verify, 2});
}

TEST_CASE("semantic: a scorer's own error ends the round with its code") {
  struct failing {
    [[nodiscard]] sv::result<double> score(std::uint32_t) const noexcept {
      return sv::status{sv::errc::busy, sv::part::host, 9};
    }
  };
  scene in = by_hand();
  link(in);
  sv::workspace none;
  const stated_verdict said = sv::semantic_rule<failing>{{}, 0.5}.verify(sv::exec::simd, in.tokens(), in.rows(),
                                                                         sv::uniforms<>{}, in.request, none);
  CHECK(said.state == sv::status{sv::errc::busy, sv::part::verify, 1});
  CHECK(said.commit_length == 0);
}

TEST_CASE("semantic: log-probabilities are those of the committed tokens, accepted mismatches included") {
  scene in = by_hand();
  link(in);
  std::array<double, 4> log_probabilities{};
  in.request.log_probabilities = log_probabilities;
  std::vector<std::byte> bytes(1 << 14);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const stated_verdict said = sv::semantic_rule<table_scorer>{{in.scores, nullptr}, 0.5}.verify(
      sv::exec::simd, in.tokens(), in.rows(), sv::uniforms<>{}, in.request, scratch);
  REQUIRE(said.commit_length == 3);
  CHECK(said.counters.exact_normalisers == 3);
  const auto expected = [&](std::size_t row, std::size_t v) {
    double sum = 0;
    for (const float z : in.values[row]) sum += std::exp(static_cast<double>(z));
    return static_cast<double>(in.values[row][v]) - std::log(sum);
  };
  CHECK(std::fabs(log_probabilities[0] - expected(0, 1)) < 1e-12);
  CHECK(std::fabs(log_probabilities[1] - expected(1, 2)) < 1e-12);
  CHECK(std::fabs(log_probabilities[2] - expected(2, 2)) < 1e-12);
}

TEST_CASE("semantic: nothing is allocated") {
  scene in = by_hand();
  link(in);
  ids best(4);
  std::array<std::uint64_t, 1> marks{};
  const std::array<double, 2> scores{0.1, 0.2};
  const specverify_test::alloc_guard guard;
  const bool compared = sv::compare_greedily(sv::exec::simd, in.tokens(), in.rows(), in.request, {best, marks}).ok();
  const std::uint32_t accepted = sv::decide_semantically(in.tokens(), {best, marks}, scores, 0.5, in.request)->accepted;
  const std::uint32_t directly = joined(in, 0.5).accepted;
  CHECK(guard.count() == 0);
  CHECK(compared);
  CHECK(accepted == 3);
  CHECK(directly == 2);
}
