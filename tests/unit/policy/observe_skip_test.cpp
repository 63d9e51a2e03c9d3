// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/observe_skip.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/testing/uniform_script.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace specverify;

namespace {

//! What a policy sees at position 12 of round 7, and the counters that were read for it.
template <class Skip>
skip_observation seen_by(const Skip& skip, uniform_script& script, const row_transform& transform = {}) {
  std::vector<float> row(300);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((i * 37) % 101) / 20.0f;
  const std::vector<float> attention{0.5f, 0.25f, 0.25f};
  std::vector<std::byte> memory(digest_workspace_size(300, transform, {}) + skip_workspace_size<Skip>(300));
  workspace scratch{std::span<std::byte>(memory)};
  const auto reading = read_row(exec::simd, logits_row(std::span<const float>(row)), transform, {}, scratch);
  REQUIRE(reading.ok());
  const std::size_t used = scratch.used();
  const auto seen = observe_skip(*reading, skip, 8, attention, uniforms{scripted_source(script), 12, 7}, scratch);
  REQUIRE(seen.ok());
  CHECK(scratch.used() == used);
  CHECK(seen->position == 12);
  CHECK(seen->round == 7);
  return *seen;
}

}  // namespace

TEST_CASE("observe_skip: reads the counters that the policy needs, in order, and no other") {
  uniform_script script(script_fill::scattered);
  seen_by(always_send{}, script);
  CHECK(script.reads().empty());
  seen_by(random_skip{}, script);
  REQUIRE(script.reads().size() == 1);
  CHECK(script.reads()[0] == random_counter{12, 7, 0, purpose::skip_coin, 0});
  script.forget();
  seen_by(uncertainty_gate{0.8, {3, 2.0}}, script);
  REQUIRE(script.reads().size() == 6);
  for (std::uint32_t m = 0; m < 3; ++m) {
    CHECK(script.reads()[2 * m] == random_counter{12, 7, m, purpose::perturbation_temperature, 0});
    CHECK(script.reads()[2 * m + 1] == random_counter{12, 7, m, purpose::perturbed_draw, 0});
  }
}

TEST_CASE("observe_skip: temperature and truncation of the drafter's reading play no part") {
  uniform_script script(script_fill::scattered);
  const uncertainty_gate gate{0.8, {40, 2.0}};
  const skip_observation plain = seen_by(gate, script);
  CHECK(plain.disagreements > 0);
  row_transform other{.temperature = 0.4};
  other.truncation.top_k = 5;
  CHECK(seen_by(gate, script, other).disagreements == plain.disagreements);
}

TEST_CASE("observe_skip: a reading that serves is not read again, and the disagreements are the same") {
  uniform_script script(script_fill::scattered);
  const uncertainty_gate gate{0.8, {40, 2.0}};
  const skip_observation again = seen_by(gate, script);
  std::vector<float> row(300);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((i * 37) % 101) / 20.0f;
  std::vector<std::byte> memory(digest_workspace_size(300, {}, {.top_entries = 64}));
  workspace scratch{std::span<std::byte>(memory)};
  const auto reading = read_row(exec::simd, logits_row(std::span<const float>(row)), {}, {.top_entries = 64}, scratch);
  REQUIRE(reading.ok());
  workspace none;  // no room to read again
  const auto seen = observe_skip(*reading, gate, 8, {}, uniforms{scripted_source(script), 12, 7}, none);
  REQUIRE(seen.ok());
  CHECK(seen->disagreements == again.disagreements);
  CHECK(seen->samples == 40);
}
