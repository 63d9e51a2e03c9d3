// SPDX-License-Identifier: Apache-2.0
//! The smallest worlds in which every known way of getting verification wrong shows; the planted-bug twins run these.
#include "law/harness.hpp"

using namespace law_test;

namespace {

world<double> two_rows(std::vector<double> target, std::vector<std::uint32_t> counts) {
  world<double> in;
  in.vocab_size = static_cast<std::uint32_t>(target.size());
  in.draft_length = 1;
  for (std::size_t node = 0; node <= target.size(); ++node) {
    in.rows.push_back(target);
    in.drafter.push_back(law_of_counts(counts, false));
  }
  return in;
}

double distance_to_target(const world<double>& in) {
  const auto law = sv::enumerate_law([&](const sv::scripted_source& source) { return run_round(sv::exec::seq, in, source, {1}).committed; });
  REQUIRE(law.complete);
  return text_distance(law, in);
}

}  // namespace

TEST_CASE("T1 smallest world: four tokens, one draft") {
  const double text_distance_to_p = distance_to_target(two_rows({0.0, 1.0, -0.5, 0.7}, {2, 1, 4, 0}));
  CHECK(text_distance_to_p <= 1e-12);
}

TEST_CASE("T1 smallest world: a target under top-k") {
  world<double> in = two_rows({0.0, 1.0, -0.5, 0.7}, {1, 1, 2, 0});
  in.transform.truncation.top_k = 2;
  const double filtered_distance_to_p = distance_to_target(in);
  CHECK(filtered_distance_to_p <= 1e-12);
}
