// SPDX-License-Identifier: Apache-2.0
// Restarts of engines whose rows do not repeat: each life of an engine adds noise of its own to the logits. None ends a
// session, and committed text stays.
#include <doctest/doctest.h>

#include <specverify/sparsify/conformal.hpp>

#include <session/schedules.hpp>

#include <cmath>
#include <vector>

using namespace specverify_test;

namespace {

//! A schedule whose engines shake. False: it ended otherwise than it should, which doctest has noted.
template <class Skip = sv::always_send, class Sparsifier = sv::top_k>
bool survives(simulation_options o, const fault_rates& suffer, ledger& total, const Skip& skip = {},
              const Sparsifier& rule = {8}) {
  o.rates = suffer;
  o.edge_jitter = o.cloud_jitter = jitters[mix(o.seed) % jitters.size()];  // with every format
  basic_simulation<Skip, Sparsifier> run(o, skip, rule);
  const bool session_survived = run.run();
  INFO("schedule ", o.seed, " ", run.trouble());
  CHECK(session_survived);
  if (!session_survived) return false;
  CHECK(run.text().size() == o.tokens);
  const bool injected_is_counted = run.counts().injected() == run.counts().counted();
  CHECK(injected_is_counted);
  total.add(run.counts());
  return injected_is_counted;
}

//! One schedule of one of the systems.
bool survives(std::uint64_t seed, const fault_rates& suffer, ledger& total, sv::draft_journaling journaled) {
  simulation_options o = options_of(seed);
  o.journal_drafts = journaled;
  switch (seed / 4 % 5) {
    case 1:
      o = hybrid_options(seed);
      o.max_skipped = 3;
      o.journal_drafts = journaled;
      return survives(o, suffer, total, sv::uncertainty_gate{0.9});
    case 2:
      o = semantic_options(seed);
      o.with_draft = seed % 3 == 0;
      o.lazy = seed % 3 == 1;
      o.journal_drafts = journaled;
      return survives(o, suffer, total);
    case 3:
      o = options_of(0);
      o.seed = o.session_id = seed;
      o.journal_drafts = journaled;
      return survives(o, suffer, total, sv::always_send{},
                      sv::conformal{.target = 0.1, .step = 0.2, .max_support_size = o.vocab_size});
    case 4:
      o.on_link_loss = sv::link_loss::continue_local;
      o.loss_after = 1;
      return survives(o, suffer, total);
    default:
      return survives(o, suffer, total);
  }
}

//! All schedules, each way of keeping drafts in turn. False: one ended otherwise than it should.
bool all_survive(const fault_rates& suffer, ledger& total) {
  for (std::uint64_t seed = 1; seed <= schedules(); ++seed) {
    const auto journaled = static_cast<sv::draft_journaling>(seed / 20 % 3);
    if (!survives(seed, suffer, total, journaled)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("restart: journals kept: engines that do not repeat their rows end no session, and committed text stays") {
  fault_rates kept = rates;
  kept.without_journal = 0;
  kept.kill_edge = kept.kill_cloud = 0.01;
  ledger total;
  if (!all_survive(kept, total)) return;
  CHECK(total.kill_edge_blank + total.kill_cloud_blank == 0);
  CHECK(total.kill_edge + total.kill_cloud > schedules());
}

TEST_CASE("restart: journals lost: engines that do not repeat their rows end no session while one side remembers") {
  fault_rates lost = rates;
  lost.without_journal = 0.5;
  lost.kill_edge = lost.kill_cloud = 0.01;
  ledger total;
  if (!all_survive(lost, total)) return;
  CHECK(total.kill_edge_blank > 0);
  CHECK(total.kill_cloud_blank > 0);
}

namespace {

constexpr std::uint32_t law_vocabulary = 4, law_tokens = 4;

simulation_options law_options(std::uint64_t draw) {
  simulation_options o;
  o.vocab_size = law_vocabulary;
  o.tokens = law_tokens;
  o.draft_length = 3;
  o.format = sv::law_format::dense_lattice;
  o.draw = draw;
  return o;
}

//! The target's own product law of each text of four tokens, behind the prompt of the simulation.
std::vector<double> product_law() {
  basic_simulation<sv::always_send> any(law_options(0));
  const std::uint32_t texts = 1u << (2 * law_tokens);
  std::vector<double> made(texts, 1.0);
  for (std::uint32_t text = 0; text < texts; ++text) {
    hash_engine engine(any.model(false));
    std::vector<token_id> fed = any.prompt();
    for (std::uint32_t i = 0; i < law_tokens; ++i) {
      REQUIRE(engine.feed(i == 0 ? 0 : static_cast<std::uint32_t>(any.prompt().size()) + i - 1, fed, 1));
      std::array<double, law_vocabulary> weight{};
      double sum = 0;
      for (std::uint32_t v = 0; v < law_vocabulary; ++v) {
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

//! Pearson's statistic of `sessions` texts, each with one kill at a moment that the draw decides.
double distance(std::uint64_t sessions, float jitter, const std::vector<double>& law, std::uint64_t& kills) {
  std::vector<std::uint64_t> seen(law.size());
  for (std::uint64_t draw = 1; draw <= sessions; ++draw) {
    simulation_options o = law_options(draw);
    o.edge_jitter = jitter;
    o.kill_at = 1 + mix(draw ^ 0xD1E) % 40;
    o.rates.without_journal = 0.3;
    o.journal_drafts = static_cast<sv::draft_journaling>(draw % 3);
    o.seed = draw;
    simulation run(o);
    const bool session_survived = run.run();
    INFO("draw ", draw, " ", run.trouble());
    CHECK(session_survived);
    if (!session_survived) return 1e9;
    kills +=
        run.counts().kill_edge + run.counts().kill_edge_blank + run.counts().kill_cloud + run.counts().kill_cloud_blank;
    std::size_t text = 0;
    for (std::uint32_t i = 0; i < law_tokens; ++i) text |= static_cast<std::size_t>(run.text()[i]) << (2 * i);
    ++seen[text];
  }
  double sum = 0;
  for (std::size_t text = 0; text < law.size(); ++text) {
    const double expected = static_cast<double>(sessions) * law[text];
    sum += (static_cast<double>(seen[text]) - expected) * (static_cast<double>(seen[text]) - expected) / expected;
  }
  return sum;
}

}  // namespace

// 255 degrees of freedom: mean 255, deviation 22.6. 420 is beyond 7 deviations: less than 10^-9 for the true law.
TEST_CASE("NET-5 restart: the law over restarts is the target's, with drafter rows that do not repeat") {
  const std::uint64_t sessions = std::getenv("SPECVERIFY_LONG") != nullptr ? 200000 : 20000;
  const std::vector<double> law = product_law();
  for (const float jitter : {1e-3F, 3.0F}) {  // the second: a drafter that is another one after a restart
    std::uint64_t kills = 0;
    const double law_distance = distance(sessions, jitter, law, kills);
    CAPTURE(law_distance);
    CHECK(law_distance < 420);
    CHECK(kills > sessions / 2);
  }
}
