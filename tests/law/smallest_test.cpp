// SPDX-License-Identifier: Apache-2.0
//! The smallest worlds in which every known mistake of verification shows. The planted-bug twins run these.
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

double distance_to_target(const world<double>& in, const sv::verify_request& request = {}) {
  const auto as_drawn = [](const sv::draft& drawn, std::size_t) { return drawn; };
  const auto law = sv::enumerate_law([&](const sv::scripted_source& source) {
    return run_round(sv::exec::seq, in, sv::uniforms{source, 0, 0}, {1}, 0, in.draft_length, request, as_drawn)
        .committed;
  });
  REQUIRE(law.complete);
  for (const auto& entry : law.outcomes) {
    for (std::size_t i = 0; i + 1 < entry.outcome.size(); ++i) {
      const bool text_goes_on_after_a_stop = sv::is_stop(request.stop_tokens, entry.outcome[i]);
      CHECK_FALSE(text_goes_on_after_a_stop);
    }
  }
  return text_distance(law, in, request.stop_tokens);
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

TEST_CASE("SMP-7 smallest world: a forced reject draws from p") {
  const std::array<std::uint8_t, 1> forced{1};
  sv::verify_request request;
  request.forced_rejects = forced;
  const double forced_distance_to_p = distance_to_target(two_rows({0.0, 1.0, -0.5, 0.7}, {2, 1, 4, 0}), request);
  CHECK(forced_distance_to_p <= 1e-12);
}

TEST_CASE("COR-13 smallest world: no bonus behind an accepted stop token") {
  const std::array<sv::token_id, 1> stops{1};
  sv::verify_request request;
  request.stop_tokens = stops;
  const double stopped_distance_to_p = distance_to_target(two_rows({0.0, 1.0, -0.5, 0.7}, {2, 1, 4, 0}), request);
  CHECK(stopped_distance_to_p <= 1e-12);
}
