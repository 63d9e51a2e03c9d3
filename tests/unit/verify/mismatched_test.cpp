// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/mismatched.hpp>

#include <specverify/testing/enumerate_law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "support/stated_verdict.hpp"

namespace sv = specverify;
using specverify_test::stated_verdict;

namespace {

const std::array<sv::token_id, 2> ids{0, 2};
const std::array<std::uint32_t, 2> counts{1, 3};
const sv::law claimed{ids.data(), counts.data(), 2, 0, 4, 3};  // 1/4, 0, 3/4

//! One draft against one row, at given numbers; the bonus row is the same.
stated_verdict run(const sv::mismatched_draft& drafted, const std::vector<double>& row, double accept,
                   double draw = 0.5) {
  sv::uniform_script script;
  script.set_uniform({0, 0, 0, sv::purpose::acceptance, 0}, 0, accept);
  for (std::uint32_t lane = 0; lane < 4; ++lane) {
    script.set_uniform({0, 0, lane, sv::purpose::residual_draw, 0}, 0, draw);
    script.set_uniform({0, 0, lane, sv::purpose::residual_draw, 0}, 1, 0.0);
  }
  const std::array<sv::row_view<double>, 2> rows{sv::probability_row<double>(row), sv::probability_row<double>(row)};
  const std::array<sv::row_transform, 1> as_they_are{};
  std::vector<std::byte> bytes(sv::verify_workspace_size(3, as_they_are[0], 1));
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const std::array<sv::mismatched_draft, 1> drafts{drafted};
  const sv::row_span_provider<double> provider(rows, as_they_are);
  const stated_verdict said =
      sv::lossy_token_rule{1}.verify(sv::exec::seq, std::span<const sv::mismatched_draft>(drafts), provider,
                                     sv::uniforms{sv::scripted_source(script), 0, 0}, {}, scratch);
  CHECK(scratch.used() == 0);
  return said;
}

}  // namespace

TEST_CASE("mismatched: lossy by type") {
  static_assert(sv::lossy_token_rule::strength == sv::guarantee::lossy);
  using rows = sv::row_span_provider<float>;
  static_assert(
      sv::acceptance_rule<sv::lossy_token_rule, sv::exec::simd_policy, sv::mismatched_draft, rows, sv::philox>);
  static_assert(sv::acceptance_rule<sv::lossy_token_rule, sv::exec::seq_policy, sv::received_draft, rows, sv::philox>);
  static_assert(!sv::acceptance_rule<sv::token_rule, sv::exec::seq_policy, sv::mismatched_draft, rows, sv::philox>);
  static_assert(sv::combined_guarantee<sv::lossy_token_rule, sv::draft> == sv::guarantee::lossy);
  CHECK(sv::lossy_token_rule{}.trial_cap == sv::token_rule{}.trial_cap);
}

TEST_CASE("mismatched: by default a token is tested against the law it claims") {
  const std::vector<double> p{0.1, 0.3, 0.6};
  CHECK(run({0, claimed}, p, 0.39).accepted == 1);  // p / q = 0.4
  CHECK(run({0, claimed}, p, 0.41).accepted == 0);
  CHECK(run({2, claimed}, p, 0.79).accepted == 1);  // 0.8
  CHECK(run({2, claimed}, p, 0.81).accepted == 0);
  // the claimed law has nothing there: accepted wherever the target has it
  CHECK(run({1, claimed}, p, 0.999).accepted == 1);
  CHECK(run({1, claimed}, {0.5, 0.0, 0.5}, 0.0).accepted == 0);
}

TEST_CASE("mismatched: a probability of its own is tested, the claimed law is what a rejection subtracts") {
  const std::vector<double> p{0.1, 0.3, 0.6};
  CHECK(run({0, claimed, 1, 2}, p, 0.19).accepted == 1);  // 0.1 / 0.5
  CHECK(run({0, claimed, 1, 2}, p, 0.21).accepted == 0);
  CHECK(run({1, claimed, 0, 7}, p, 0.99).accepted == 1);
  const stated_verdict said = run({0, claimed, 1, 2}, p, 0.9);  // (p - q^)+ lives on token 1 alone
  CHECK(said.next_token == 1);
  CHECK(said.source == sv::token_source::residual);
}

TEST_CASE("mismatched: errors") {
  const std::vector<double> p{0.1, 0.3, 0.6};
  CHECK(run({0, claimed, 3, 2}, p, 0.5).state.code == sv::errc::invalid_resolution);
  CHECK(run({0, {}, 1, 2}, p, 0.5).state.code == sv::errc::invalid_resolution);
  const stated_verdict unknown = run({5, claimed, 1, 2}, p, 0.0);
  CHECK(unknown.state.ok());
  CHECK(unknown.accepted == 0);
  CHECK(unknown.counters.invalid_tokens == 1);
}
