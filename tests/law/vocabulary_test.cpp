// SPDX-License-Identifier: Apache-2.0
//! Draws and decisions over 4 096 ids, so that blocks, lanes and ids in a lane all count, against laws in long double.
//! A case has 10^5 draws; if SPECVERIFY_LONG=1, 10^7 of float rows and 10^6 of the others.
#include "law/harness.hpp"

#include <specverify/core/random.hpp>
#include <specverify/testing/chi_square.hpp>

#include "unit/row/row_cases.hpp"

namespace {

using namespace specverify;
using law_test::emulated;
using law_test::long_run;
using row_cases::logits;
using row_cases::make_digest;
using row_cases::row_of;

constexpr std::uint32_t vocab_size = 4096;
constexpr double level = 1e-5;  // of a test; about fifty are made

std::uint32_t draws(bool main_case) {
  if (emulated()) return 10000;
  return long_run() ? (main_case ? 10000000u : 1000000u) : 100000u;
}

//! Returns a row. Peaked: like a language model's row, most of the mass on a hundred ids all over the vocabulary. Flat:
//! all within 2.
std::vector<double> row_values(bool peaked, std::uint64_t seed) {
  row_cases::generator random{seed * 7919 + 17};
  std::vector<double> values(vocab_size);
  for (double& value : values) value = peaked ? 2.2 * random.normal() : 2.0 * random.uniform();
  if (peaked) values[vocab_size - 1] = 8.5;  // the last id of the last lane of the last block
  return values;
}

//! Returns the law of a row, by the definitions.
template <class Scalar>
std::vector<double> stated_law(const std::vector<Scalar>& row, const row_transform& transform) {
  return law_test::plain_law(row_cases::transformed(row, {}), row_kind::logits, transform, vocab_size);
}

//! Returns a drafter's law that a row's law exceeds on some ids but not on others: every third id, with counts near p.
law_test::owned_law near_law(const std::vector<double>& p) {
  row_cases::generator random{99};
  std::vector<std::uint32_t> counts(p.size(), 0);
  for (std::size_t v = 0; v < p.size(); v += 3)
    counts[v] = static_cast<std::uint32_t>(p[v] * 1e6 * (0.4 + 2.4 * random.uniform()));
  return law_test::law_of_counts(counts, true);
}

std::vector<double> residual_of(const std::vector<double>& p, const law& taken) {
  std::vector<double> rest(p.size());
  long double mass = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    const long double q = static_cast<long double>(taken.count(static_cast<token_id>(v))) / taken.resolution;
    rest[v] = static_cast<double>(std::max(0.0L, static_cast<long double>(p[v]) - q));
    mass += static_cast<long double>(rest[v]);
  }
  for (double& entry : rest) entry = static_cast<double>(static_cast<long double>(entry) / mass);
  return rest;
}

template <class Draw>
void check_frequencies(const std::vector<double>& law, std::uint32_t count, const Draw& draw) {
  std::vector<std::uint64_t> seen(law.size(), 0);
  const philox source{{0x5EED, 4096}};
  std::uint32_t failed = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const token_id token = draw(uniforms{source, i, 1});
    if (token >= 0 && static_cast<std::uint32_t>(token) < law.size()) {
      ++seen[static_cast<std::size_t>(token)];
    } else {
      ++failed;
    }
  }
  CHECK(failed == 0);
  const auto fit = chi_square(seen, law);
  REQUIRE(fit.ok());
  CAPTURE(fit->statistic);
  CAPTURE(fit->degrees_of_freedom);
  CHECK(fit->impossible == 0);
  const bool drawn_from_the_law = fit->p_value > level;
  CHECK(drawn_from_the_law);
}

//! Makes both draws of one row under one policy.
template <class Scalar, class Policy>
void check_row(Policy policy, const std::vector<double>& values, const row_transform& transform, bool main_case) {
  const std::vector<Scalar> row = row_of<Scalar>(values);
  const auto from = make_digest(policy, logits(row), transform);
  REQUIRE(from.outcome.ok());
  const std::vector<double> p = stated_law(row, transform);
  check_frequencies(p, draws(main_case), [&](const auto& random) {
    const auto drawn = from->sample(random.at(purpose::bonus_draw));
    return drawn.ok() ? drawn->token : no_token;
  });
  const law_test::owned_law taken = near_law(p);
  check_frequencies(residual_of(p, taken.view()), draws(main_case), [&](const auto& random) {
    const auto drawn = from->residual(taken.view(), random.at(purpose::residual_draw));
    return drawn.ok() && !drawn->fallback ? drawn->token : no_token;
  });
}

}  // namespace

TEST_CASE("T33 sample and residual: peaked and flat rows of every type over 4 096 ids, both policies") {
  for (const bool peaked : {true, false}) {
    const std::vector<double> values = row_values(peaked, 1);
    CAPTURE(peaked);
    row_transform transform;
    check_row<float>(exec::simd, values, transform, true);
    check_row<bfloat16_bits>(exec::simd, values, transform, false);
    check_row<float16_bits>(exec::simd, values, transform, false);
    transform.temperature = 0.7;
    check_row<float>(exec::seq, values, transform, false);
    transform.temperature = 1.6;
    check_row<bfloat16_bits>(exec::seq, values, transform, false);
  }
}

TEST_CASE("T33 sample and residual: truncated rows over 4 096 ids") {
  row_transform transform;
  transform.temperature = 0.8;
  transform.truncation.top_k = 100;
  transform.truncation.top_p = 0.95;
  for (const bool peaked : {true, false}) {
    CAPTURE(peaked);
    const std::vector<double> values = row_values(peaked, 2);
    check_row<float>(exec::simd, values, transform, false);
    check_row<float>(exec::seq, values, transform, false);
  }
}

namespace {

//! Eight drafts a block, rows and drafters' laws from a pool.
struct acceptance_world {
  static constexpr std::uint32_t pool = 24, length = 8;
  std::vector<std::vector<float>> rows;
  std::vector<std::vector<double>> laws;
  std::vector<law_test::owned_law> drafters;
  std::vector<row_transform> transforms = std::vector<row_transform>(1);

  acceptance_world() {
    transforms[0].temperature = 0.9;
    for (std::uint32_t i = 0; i < pool; ++i) {
      rows.push_back(row_of<float>(row_values(i % 4 != 0, 100 + i)));
      laws.push_back(stated_law(rows.back(), transforms[0]));
      row_cases::generator random{i + 1};
      std::vector<std::uint32_t> counts(vocab_size, 0);
      for (std::uint32_t v = 0; v < vocab_size; ++v)
        counts[v] = static_cast<std::uint32_t>(laws[i][v] * 1e6 * std::exp(0.35 * random.normal()));
      drafters.push_back(law_test::law_of_counts(counts, true));
    }
  }
};

//! Returns how far the boundary p = U q is, relative to p. If it is below 0, the draft is rejected.
long double distance(double p, const law& drafter, token_id token, double uniform) {
  const long double q = static_cast<long double>(drafter.count(token)) / drafter.resolution;
  return (static_cast<long double>(p) - static_cast<long double>(uniform) * q) / static_cast<long double>(p);
}

}  // namespace

TEST_CASE("T33 token rule: accepted lengths are those of long double, but within 1e-5 of the boundary") {
  const acceptance_world in;
  const std::uint32_t blocks = emulated() ? 100 : (long_run() ? 300000 : 4000);
  const philox source{{31, 4096}};
  row_cases::generator random{4};
  std::vector<std::byte> bytes(verify_workspace_size(vocab_size, in.transforms[0], in.length));
  workspace scratch{std::span<std::byte>(bytes)};
  std::uint32_t decisions = 0, close = 0, differing = 0;
  std::vector<std::uint32_t> lengths(in.length + 1, 0);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const uniforms numbers{source, 0, block};
    std::vector<row_view<float>> rows;
    std::vector<draft> drafts;
    std::uint32_t expected = 0;
    bool rejected = false, near_boundary = false;
    for (std::uint32_t i = 0; i <= in.length; ++i) {
      const std::uint32_t at = random.below(in.pool);
      rows.push_back(logits(in.rows[at]));
      if (i == in.length) break;
      const law drafter = in.drafters[at].view();
      drafts.push_back(draw(drafter, numbers.after(i).at(purpose::draft_draw)));
      if (rejected) continue;
      const token_id token = drafts.back().token();
      const long double far = distance(in.laws[at][static_cast<std::size_t>(token)], drafter, token,
                                       numbers.after(i).at(purpose::acceptance).uniform());
      ++decisions;
      near_boundary = near_boundary || std::fabs(far) <= 1e-5L;
      rejected = far < 0;
      if (!rejected) ++expected;
    }
    ++lengths[expected];
    const auto check = [&](auto policy) {
      const row_span_provider<float> provider(rows, in.transforms);
      const auto outcome = token_rule{}.verify(policy, std::span<const draft>(drafts), provider, numbers, {}, scratch);
      REQUIRE(outcome.ok());
      if (!near_boundary && outcome->accepted != expected) ++differing;
    };
    check(exec::simd);
    if (block % 4 == 0) check(exec::seq);
    close += near_boundary ? 1u : 0u;
  }
  MESSAGE("accepted lengths: ", decisions, " decisions, ", close, " blocks within 1e-5 of a boundary");
  CHECK(differing == 0);
  CHECK(close <= 5 + decisions / 10000);
  for (const std::uint32_t count : lengths) CHECK(count > 0);  // every length was seen
}

TEST_CASE("T33 accept: on the right side at 1.1e-5 from the boundary, from both sides, bracket and exact") {
  const acceptance_world in;
  std::uint32_t accepted_above = 0, rejected_below = 0, tested = 0, exact = 0;
  for (std::uint32_t i = 0; i < in.pool; ++i) {
    const law drafter = in.drafters[i].view();
    row_cases::for_each_policy([&](auto policy) {
      const auto from = make_digest(policy, logits(in.rows[i]), in.transforms[0]);
      for (std::uint32_t k = 0; k < drafter.size; k += 7) {
        const drafted_token drafted{drafter.ids[k], drafter.counts[k], drafter.resolution};
        const double p = in.laws[i][static_cast<std::size_t>(drafted.token)];
        const double boundary = p * drafted.resolution / drafted.count;
        if (boundary > 0.99) continue;
        const auto at = [&](double uniform) {
          const auto decided = from->accept(drafted, uniform);
          REQUIRE(decided.ok());
          exact += decided->exact ? 1u : 0u;
          return decided->accepted;
        };
        ++tested;
        rejected_below += at(boundary * (1 - 1.1e-5)) ? 0u : 1u;
        accepted_above += at(boundary * (1 + 1.1e-5)) ? 1u : 0u;
      }
    });
  }
  CHECK(tested > 500);
  CHECK(exact > 0);
  CHECK(rejected_below == 0);
  CHECK(accepted_above == 0);
}
