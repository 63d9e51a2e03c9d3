// SPDX-License-Identifier: Apache-2.0
// Restarts of engines whose rows do not repeat: each life of an engine adds noise of its own to the logits. No session
// dies of it, and committed text stays.
#include <doctest/doctest.h>

#include <specverify/sparsify/conformal.hpp>

#include <session/schedules.hpp>

using namespace specverify_test;

namespace {

constexpr std::array<float, 4> jitters{0.0F, 1e-5F, 1e-3F, 1e-2F};

//! A schedule whose engines shake. False: it ended otherwise than it should, which doctest has noted.
template <class Skip = sv::always_send, class Sparsifier = sv::top_k>
bool survives(simulation_options o, const fault_rates& suffer, ledger& total, const Skip& skip = {},
              const Sparsifier& rule = {8}) {
  o.rates = suffer;
  o.edge_jitter = o.cloud_jitter = jitters[o.seed % jitters.size()];
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
      o.any_support = true;
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

}  // namespace

TEST_CASE("restart: engines that do not repeat their rows, journals kept: no session dies, committed text stays") {
  fault_rates kept = rates;
  kept.without_journal = 0;
  kept.kill_edge = kept.kill_cloud = 0.01;
  ledger total;
  for (std::uint64_t seed = 1; seed <= schedules(); ++seed) {
    const auto journaled = static_cast<sv::draft_journaling>(seed / 20 % 3);
    if (!survives(seed, kept, total, journaled)) return;
  }
  CHECK(total.kill_edge_blank + total.kill_cloud_blank == 0);
  CHECK(total.kill_edge + total.kill_cloud > schedules());
}

TEST_CASE("restart: engines that do not repeat their rows, journals lost: no session dies while one side remembers") {
  fault_rates lost = rates;
  lost.without_journal = 0.5;
  lost.kill_edge = lost.kill_cloud = 0.01;
  ledger total;
  for (std::uint64_t seed = 1; seed <= schedules(); ++seed) {
    const auto journaled = static_cast<sv::draft_journaling>(seed / 20 % 3);
    if (!survives(seed, lost, total, journaled)) return;
  }
  CHECK(total.kill_edge_blank > 0);
  CHECK(total.kill_cloud_blank > 0);
}
