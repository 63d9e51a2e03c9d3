// SPDX-License-Identifier: Apache-2.0
// Distribution of the text over restarts, with engines whose rows do not repeat: after each restart an engine adds
// other noise to the logits.
#include <doctest/doctest.h>

#include <session/simulation.hpp>

#include <cmath>
#include <vector>

using namespace specverify_test;

namespace {

constexpr std::uint32_t vocabulary = 4, tokens = 4;

simulated_system system_of_draw(std::uint64_t draw) {
  simulated_system made = system_of(1, vocabulary);
  made.device.secret = secret_of(815 + 2 * draw);
  made.service.secret = secret_of(4711 + 2 * draw);
  made.device.format = sv::law_format::dense_lattice;
  made.device.token_budget = tokens;
  made.device.journal_drafts = static_cast<sv::draft_journaling>(draw % 3);
  give_parts(made, sv::fixed_window{3, 50});
  return made;
}

//! Returns the target's probability of each text of four tokens after the prompt.
std::vector<double> product_law() {
  const simulated_system system = system_of_draw(0);
  const std::uint32_t texts = 1u << (2 * tokens);
  std::vector<double> made(texts, 1.0);
  for (std::uint32_t text = 0; text < texts; ++text) {
    hash_engine engine(system.target);
    std::vector<token_id> fed = system.prompt;
    for (std::uint32_t i = 0; i < tokens; ++i) {
      REQUIRE(engine.feed(i == 0 ? 0 : static_cast<std::uint32_t>(system.prompt.size()) + i - 1, fed, 1));
      std::array<double, vocabulary> weight{};
      double sum = 0;
      for (std::uint32_t v = 0; v < vocabulary; ++v) {
        weight[v] = std::exp(static_cast<double>(engine.logits()[v]));
        sum += weight[v];
      }
      const std::uint32_t token = text >> (2 * i) & 3u;
      made[text] *= weight[token] / sum;
      fed.assign(1, static_cast<token_id>(token));
    }
  }
  return made;
}

//! Returns Pearson's statistic of `sessions` texts. Each has one kill at a time that depends on the draw, and one
//! session in three loses journals.
double distance(std::uint64_t sessions, float jitter, const std::vector<double>& law, std::uint64_t& kills) {
  std::vector<std::uint64_t> seen(law.size());
  double whole = 0;
  for (std::uint64_t draw = 1; draw <= sessions; ++draw) {
    simulation run(system_of_draw(draw),
                   {.seed = draw, .cuts = draw % 3 == 0, .edge_jitter = jitter, .kill_at = 1 + mix(draw ^ 0xD1E) % 70});
    const bool session_survived = run.run();
    INFO("draw ", draw, " ", run.trouble());
    CHECK(session_survived);
    if (!session_survived) return 1e9;
    kills += run.counts().kills;
    if (run.reason().code == sv::errc::unknown_session) continue;  // killed before anyone had the prompt
    ++whole;
    std::size_t text = 0;
    for (std::uint32_t i = 0; i < tokens; ++i) text |= static_cast<std::size_t>(run.text()[i]) << (2 * i);
    ++seen[text];
  }
  double sum = 0;
  for (std::size_t text = 0; text < law.size(); ++text) {
    const double expected = whole * law[text];
    sum += (static_cast<double>(seen[text]) - expected) * (static_cast<double>(seen[text]) - expected) / expected;
  }
  return sum;
}

}  // namespace

// 255 degrees of freedom: mean 255, deviation 22.6. 420 is 7 deviations above: less than 10^-9 for the true
// distribution.
TEST_CASE("NET-5 restart: the law over restarts is the target's, with drafter rows that do not repeat") {
  const std::uint64_t sessions = std::getenv("SPECVERIFY_LONG") != nullptr ? 200000 : 20000;
  const std::vector<double> law = product_law();
  for (const float jitter : {1e-3F, 3.0F}) {  // the second makes another drafter after a restart
    std::uint64_t kills = 0;
    const double law_distance = distance(sessions, jitter, law, kills);
    CAPTURE(law_distance);
    CHECK(law_distance < 420);
    CHECK(kills > sessions / 2);
  }
}
