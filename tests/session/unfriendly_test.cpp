// SPDX-License-Identifier: Apache-2.0
// Schedules of all that a session meets at once, one in three each: engines that do not repeat their rows, with lost
// journals, recoveries and new connections (every fault is counted); the same with clocks that jump; and peers that lie
// under good checksums. A session ends with the same text at both sides or with a name, and committed text stays.
// 1 000 schedules, 100 000 with SPECVERIFY_LONG=1 (with a table), or as many as SPECVERIFY_SCHEDULES says.
#include <doctest/doctest.h>

#include <session/schedules.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <string>

using namespace specverify_test;

namespace {

struct outcomes {
  ledger total{};
  std::uint64_t whole = 0, silent = 0, unnamed = 0, uncounted = 0;
  std::map<std::string, std::uint64_t> named{};
};

fault_rates rates_of(std::uint64_t seed) {
  fault_rates suffer = rates;
  suffer.kill_edge = suffer.kill_cloud = 0.008;
  if (seed % 3 == 1) suffer.jump = 0.02;
  if (seed % 3 == 2) {
    suffer.lie = 0.03;
    suffer.without_journal = 0;  // the only witness of what a liar changed
  }
  return suffer;
}

//! The edge's text is the cloud's, but for tokens that it committed alone; a cloud that forgot it has no other one.
template <class Simulation>
bool same_text(const Simulation& run, std::uint32_t max_skipped) {
  const auto edge = run.edge().text(), cloud = run.cloud().text();
  if (cloud.empty()) return true;
  const std::size_t common = std::min(edge.size(), cloud.size());
  return std::equal(edge.begin(), edge.begin() + static_cast<std::ptrdiff_t>(common), cloud.begin()) &&
         common == cloud.size() && edge.size() - common <= max_skipped;
}

template <class Skip = sv::always_send>
void run_one(simulation_options o, outcomes& seen, const Skip& skip = {}) {
  o.rates = rates_of(o.seed);
  o.edge_jitter = o.cloud_jitter = jitters[mix(o.seed) % jitters.size()];  // with every format and fault
  o.journal_drafts = static_cast<sv::draft_journaling>(o.seed / 12 % 3);
  basic_simulation<Skip> run(o, skip);
  const bool ended = run.run();
  INFO("schedule ", o.seed, " ", run.trouble());
  CHECK_MESSAGE(ended, "the session has no end with a name");
  seen.total.add(run.counts());
  seen.unnamed += ended ? 0 : 1;
  if (!ended) return;
  if (!run.reason().ok()) {
    ++seen.named[sv::name(run.reason().code)];
    return;
  }
  ++seen.whole;
  const bool sides_agree = same_text(run, o.max_skipped);
  CHECK(sides_agree);
  seen.silent += sides_agree ? 0 : 1;
  if (o.seed % 3 != 0) return;
  const bool injected_is_counted = run.counts().injected() == run.counts().counted();
  CHECK(injected_is_counted);
  seen.uncounted += injected_is_counted ? 0 : 1;
}

void run_schedule(std::uint64_t seed, outcomes& seen) {
  simulation_options o = options_of(seed);
  switch (seed / 3 % 5) {
    case 1:
      o = hybrid_options(seed);
      o.max_skipped = 3;
      return run_one(o, seen, sv::uncertainty_gate{0.9});
    case 2:
      o = semantic_options(seed);
      o.with_draft = seed % 2 == 0;
      return run_one(o, seen);
    case 3:
      o.on_link_loss = sv::link_loss::continue_local;
      o.loss_after = 1;
      return run_one(o, seen);
    default:
      return run_one(o, seen);
  }
}

void print(const outcomes& seen, std::uint64_t runs) {
  const auto line = [](const char* what, std::uint64_t number) {
    std::printf("  %-42s %10" PRIu64 "\n", what, number);
  };
  std::printf("%" PRIu64 " schedules\n", runs);
  line("kills of the edge, of the cloud",
       seen.total.kill_edge + seen.total.kill_edge_blank + seen.total.kill_cloud + seen.total.kill_cloud_blank);
  line("journals lost", seen.total.kill_edge_blank + seen.total.kill_cloud_blank);
  line("new connections", seen.total.reconnect);
  line("jumps of the clock", seen.total.jump);
  line("lies", seen.total.lie);
  line("ended with the same text at both sides", seen.whole);
  for (const auto& [name, number] : seen.named) line(("ended by a lie: " + name).c_str(), number);
  line("ended with texts that differ", seen.silent);
  line("ended without a name", seen.unnamed);
  line("faults that were not counted once", seen.uncounted);
}

}  // namespace

TEST_CASE("NET-5 SEC-1 schedules with jitter, lost journals, new connections, clock jumps and liars end by name") {
  outcomes seen;
  const std::uint64_t runs = schedules(1000, 100000);
  for (std::uint64_t seed = 1; seed <= runs; ++seed) run_schedule(seed, seen);
  CHECK(seen.silent == 0);
  CHECK(seen.unnamed == 0);
  CHECK(seen.uncounted == 0);
  CHECK(seen.total.kill_edge_blank > 0);
  CHECK(seen.total.kill_cloud_blank > 0);
  CHECK(seen.total.reconnect > 0);
  CHECK(seen.total.jump > 0);
  CHECK(seen.total.lie > 0);
  CHECK(seen.whole > runs / 2);
  if (runs >= 10000) print(seen, runs);
}
