// SPDX-License-Identifier: Apache-2.0
// Random fault schedules: drop, duplicate, reorder, truncate, flip, kill and restart either side, with and without a
// journal. While the cloud's journal is kept the text is that of the fault-free run under the same salt. A cloud that
// lost it begins again under another salt: what was committed stays, and the session ends well. What was injected is
// what was counted. 300 schedules, 10 000 with SPECVERIFY_LONG=1 (with a table), or as many as SPECVERIFY_SCHEDULES
// says.
#include <doctest/doctest.h>

#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>

#include <session/schedules.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <span>

using namespace specverify_test;

namespace {

void print(const ledger& total, std::uint64_t runs) {
  const auto line = [](const char* what, std::uint64_t number) {
    std::printf("  %-42s %10" PRIu64 "\n", what, number);
  };
  std::printf("%" PRIu64 " fault schedules\ninjected\n", runs);
  line("drop", total.drop);
  line("duplicate", total.duplicate);
  line("reorder (counts twice)", total.reorder);
  line("truncate", total.truncate);
  line("flip", total.flip);
  line("kill the edge, journal kept", total.kill_edge);
  line("kill the edge, journal lost", total.kill_edge_blank);
  line("kill the cloud, journal kept", total.kill_cloud);
  line("kill the cloud, journal lost", total.kill_cloud_blank);
  line("questions that died with the cloud", total.lost_work);
  line("questions to a cloud without memory", total.unknown);
  line("damage that was not answered at once", total.waited);
  line("connections that broke", total.reconnect);
  line("made unobservable by a kill or a break", total.masked);
  line("= consequences expected", total.injected());
  std::printf("counted\n");
  line("duplicates", total.duplicates);
  line("stale", total.stale);
  line("corrupt", total.corrupt);
  line("truncated", total.truncated);
  line("timeouts", total.timeouts);
  line("= counted", total.counted());
}

//! What a run with faults owes to the one without, under the same salt.
template <class Simulation>
bool keeps_its_text(const Simulation& faulted, const Simulation& clean) {
  const std::span<const token_id> text(faulted.text()), wanted(clean.text());
  return text.size() == wanted.size() &&
         std::ranges::equal(text.first(faulted.same_until()), wanted.first(faulted.same_until()));
}

//! One schedule, run with faults and without them. False: something was wrong, which doctest has noted.
template <class Skip, class Sparsifier = sv::top_k>
bool same_under_faults(simulation_options o, const Skip& skip, const fault_rates& suffer, ledger& total,
                       sv::session_statistics& clean_counts, const Sparsifier& rule = {8}) {
  o.rates = suffer;
  basic_simulation<Skip, Sparsifier> faulted(o, skip, rule);
  const bool session_ended_well = faulted.run();
  INFO("schedule ", o.seed, " ", faulted.trouble());
  CHECK(session_ended_well);
  o.rates = {};
  o.salt = faulted.salt();
  basic_simulation<Skip, Sparsifier> clean(o, skip, rule);
  const bool clean_run_ended = clean.run();
  INFO(clean.trouble());
  CHECK(clean_run_ended);
  if (!clean_run_ended) return false;
  CHECK(clean.counts().counted() == 0);
  CHECK(clean.text().size() == o.tokens);
  sv::merge(clean_counts, clean.edge().statistics());
  const bool same_text = keeps_its_text(faulted, clean);
  CHECK(same_text);
  const bool injected_is_counted = faulted.counts().injected() == faulted.counts().counted();
  CHECK(injected_is_counted);
  total.add(faulted.counts());
  return session_ended_well && same_text && injected_is_counted;
}

}  // namespace

TEST_CASE("NET-4 NET-5 fault schedules: the text is that of the fault-free run and every fault is counted once") {
  ledger total;
  sv::session_statistics counts;
  const std::uint64_t runs = schedules();
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    if (!same_under_faults(options_of(seed), sv::always_send{}, rates, total, counts)) return;
  }
  CHECK(total.injected() == total.counted());
  if (runs >= 10000) {
    print(total, runs);
    for (const std::uint64_t injected :
         {total.drop, total.duplicate, total.reorder, total.truncate, total.flip,
          total.kill_edge + total.kill_edge_blank, total.kill_cloud + total.kill_cloud_blank}) {
      CHECK(injected >= 10000);
    }
  }
}

TEST_CASE("NET-4 NET-5 fault schedules without a bonus token (HLM)") {
  ledger total;
  sv::session_statistics counts;
  for (std::uint64_t seed = 1; seed <= system_schedules(); ++seed) {
    simulation_options o = hybrid_options(seed);
    o.draft_length = 1 + static_cast<std::uint32_t>(seed % 3 == 0) * 2;
    if (!same_under_faults(o, sv::always_send{}, rates, total, counts)) return;
  }
  CHECK(total.injected() > 0);
  CHECK(counts.bonus_tokens == 0);
  CHECK(counts.residual_tokens > 0);
}

TEST_CASE("NET-4 NET-5 fault schedules with tokens that the edge commits alone (U-HLM, Rand-HLM, UI)") {
  ledger total;
  sv::session_statistics uncertain, coin, important;
  for (std::uint64_t seed = 1; seed <= system_schedules(); ++seed) {
    simulation_options o = hybrid_options(seed);
    o.max_skipped = 1 + static_cast<std::uint32_t>(seed % 5);
    if (seed % 4 == 3) o.bonus = true, o.draft_length = 3;
    const std::uint64_t gate = seed / 3 % 3;  // each with every law kind
    if (gate == 0 && !same_under_faults(o, sv::uncertainty_gate{0.9}, rates, total, uncertain)) return;
    if (gate == 1 && !same_under_faults(o, sv::random_skip{0.4}, rates, total, coin)) return;
    if (gate == 2 && !same_under_faults(o, sv::uncertainty_and_importance_gate{0.6}, rates, total, important)) return;
  }
  CHECK(total.injected() > 0);
  CHECK(uncertain.skipped > 0);
  CHECK(uncertain.rounds > 0);
  CHECK(coin.skipped > 0);
  CHECK(important.skipped_uncertain > 0);
  CHECK(important.skipped > important.skipped_uncertain);
  CHECK(important.rounds > 0);
}

TEST_CASE(
    "NET-4 NET-5 fault schedules with a threshold that learns (C-SQS) and with a compressed vocabulary (CU-HLM)") {
  ledger total;
  sv::session_statistics counts;
  fault_rates with_journal = rates;  // what was learnt is in the edge's journal alone
  for (std::uint64_t seed = 1; seed <= system_schedules(); ++seed) {
    simulation_options o = options_of(0);
    o.seed = o.session_id = seed;
    if (seed % 2 == 0) {
      with_journal.without_journal = 0;
      if (!same_under_faults(o, sv::always_send{}, with_journal, total, counts,
                             sv::conformal{.target = 0.1, .step = 0.2, .max_support_size = o.vocab_size}))
        return;
    } else if (seed % 4 == 3) {
      o = hybrid_options(seed);
      o.format = sv::law_format::top_k_tail;
      o.draw_from_row = true;
      o.max_skipped = 3;
      if (!same_under_faults(o, sv::uncertainty_gate{0.8}, rates, total, counts,
                             sv::online_vocabulary_budget{{0.3, 2}}))
        return;
    } else {
      o.format = sv::law_format::top_k_tail;
      if (!same_under_faults(o, sv::always_send{}, rates, total, counts, sv::vocabulary_budget{0.3})) return;
    }
  }
  CHECK(total.injected() > 0);
  CHECK(counts.accepted > 0);
}

TEST_CASE("NET-4 NET-5 fault schedules with hidden states: with each draft, on request, one by one (WISV)") {
  ledger total;
  sv::session_statistics counts;
  for (std::uint64_t seed = 1; seed <= system_schedules(); ++seed) {
    simulation_options o = semantic_options(seed);
    o.with_draft = seed % 3 == 0;
    o.lazy = seed % 3 == 1;
    if (!same_under_faults(o, sv::always_send{}, rates, total, counts)) return;
  }
  CHECK(total.injected() > 0);
  CHECK(counts.supply_bytes > 0);
  CHECK(counts.accepted > 0);
}

namespace {

struct ahead_sums {
  ledger total{};
  std::uint64_t ahead = 0, differs = 0, skipped = 0;
};

//! One schedule in which the edge writes ahead. False: the rest need not run.
template <class Skip = sv::always_send, class Sparsifier = sv::top_k>
bool ends_well_ahead(simulation_options o, fault_rates with, ahead_sums& sums, const Skip& skip = {},
                     const Sparsifier& rule = {8}) {
  basic_simulation<Skip, Sparsifier> clean(o, skip, rule);
  REQUIRE(clean.run());
  o.on_link_loss = sv::link_loss::continue_local;
  o.loss_after = 1;
  o.rates = with;
  basic_simulation<Skip, Sparsifier> faulted(o, skip, rule);
  const bool session_ended_well = faulted.run();
  INFO("schedule ", o.seed, " ", faulted.trouble());
  CHECK(session_ended_well);
  if (!session_ended_well) return false;
  CHECK(faulted.text().size() == o.tokens);
  const bool injected_is_counted = faulted.counts().injected() == faulted.counts().counted();
  CHECK(injected_is_counted);
  sums.ahead += faulted.edge().statistics().written_ahead;
  sums.skipped += faulted.edge().statistics().skipped;
  sums.differs += faulted.text() != clean.text() ? 1u : 0u;  // other drafts, the same law: link_loss_test.cpp
  if (o.rule == sv::wire_rule::greedy) CHECK(faulted.text() == clean.text());
  sums.total.add(faulted.counts());
  return true;
}

}  // namespace

TEST_CASE("NET-4 NET-5 fault schedules in which the edge writes ahead while the link is lost") {
  ahead_sums sums;
  for (std::uint64_t seed = 1; seed <= system_schedules(); ++seed) {
    simulation_options o = options_of(seed);
    if (seed % 3 == 0) o.bonus = false;
    if (!ends_well_ahead(o, rates, sums)) return;
  }
  CHECK(sums.total.injected() > 0);
  CHECK(sums.ahead > 0);
  CHECK(sums.differs > 0);
}

TEST_CASE(
    "NET-4 NET-5 fault schedules in which an edge that keeps tokens, learns a threshold or is scored by meaning writes "
    "ahead") {
  ahead_sums gated, learning, scored;
  fault_rates with_journal = rates;  // what was learnt is in the edge's journal alone
  with_journal.without_journal = 0;
  for (std::uint64_t seed = 1; seed <= system_schedules(); ++seed) {
    simulation_options o = hybrid_options(seed);
    if (seed % 3 == 0) {
      o.max_skipped = 3;
      const bool ended = seed % 2 == 0 ? ends_well_ahead(o, rates, gated, sv::uncertainty_and_importance_gate{0.6})
                                       : ends_well_ahead(o, rates, gated, sv::uncertainty_gate{0.9});
      if (!ended) return;
    } else if (seed % 3 == 1) {
      o = options_of(0);
      o.seed = o.session_id = seed;
      if (!ends_well_ahead(o, with_journal, learning, sv::always_send{},
                           sv::conformal{.target = 0.1, .step = 0.2, .max_support_size = o.vocab_size}))
        return;
    } else {
      o = semantic_options(seed);
      o.with_draft = seed % 2 == 0;
      if (!ends_well_ahead(o, rates, scored)) return;
    }
  }
  for (const ahead_sums* sums : {&gated, &learning, &scored}) {
    CHECK(sums->total.injected() > 0);
    CHECK(sums->ahead > 0);
  }
  CHECK(gated.skipped > 0);
}

TEST_CASE("NET-5 heavy faults: one message in three suffers") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    simulation_options o = options_of(seed);
    o.rates = {0.07, 0.07, 0.07, 0.06, 0.06, 0.01, 0.01, 0.3, 0.02};
    simulation faulted(o);
    const bool session_ended_well = faulted.run();
    INFO("schedule ", seed, " ", faulted.trouble());
    CHECK(session_ended_well);
    o.rates = {};
    o.salt = faulted.salt();
    simulation clean(o);
    REQUIRE(clean.run());
    CHECK(keeps_its_text(faulted, clean));
  }
}

TEST_CASE("NET-5 a stream survives faults, restarts, recoveries and new connections with the same text") {
  ledger total;
  for (std::uint64_t seed = 1; seed <= system_schedules(); ++seed) {
    simulation_options o = options_of(0);
    o.seed = o.session_id = seed;
    o.mode = sv::session_mode::stream;
    o.rates = {0.02, 0.02, 0.02, 0.02, 0.02, 0.004, 0.004, 0.5, 0.02};
    simulation faulted(o);
    const bool session_ended_well = faulted.run();
    INFO("schedule ", seed, " ", faulted.trouble());
    CHECK(session_ended_well);
    if (!session_ended_well) return;
    total.add(faulted.counts());
    o.rates = {};
    o.salt = faulted.salt();
    simulation clean(o);
    REQUIRE(clean.run());
    CHECK(clean.text().size() == o.tokens);
    CHECK(clean.counts().counted() == 0);
    CHECK(keeps_its_text(faulted, clean));
  }
  CHECK(total.kill_edge_blank > 0);
  CHECK(total.kill_cloud_blank > 0);
  CHECK(total.reconnect > 0);
}
