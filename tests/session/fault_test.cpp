// SPDX-License-Identifier: Apache-2.0
// Random fault schedules: drop, duplicate, reorder, truncate, flip, kill and restart either side, with and without a journal. The text is
// that of the fault-free run, and what was injected is what was counted. 300 schedules, 10 000 with SPECVERIFY_LONG=1 (with a table), or as
// many as SPECVERIFY_SCHEDULES says.
#include <doctest/doctest.h>

#include <session/simulation.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

using namespace specverify_test;

namespace {

std::uint64_t schedules() {
  if (const char* number = std::getenv("SPECVERIFY_SCHEDULES")) return std::strtoull(number, nullptr, 10);
  return std::getenv("SPECVERIFY_LONG") != nullptr ? 10000 : 300;
}

simulation_options options_of(std::uint64_t seed) {
  simulation_options o;
  o.seed = seed;
  o.session_id = seed;
  switch (seed % 8) {  // every law kind takes part
    case 5:
      o.format = sv::law_format::dense_lattice;
      break;
    case 6:
      o.format = sv::law_format::sparse_paper;
      break;
    case 7:
      o.format = seed % 16 == 7 ? sv::law_format::half_row : sv::law_format::token_only;
      break;
    default:
      break;
  }
  if (o.format == sv::law_format::token_only && seed % 32 == 15) o.rule = sv::wire_rule::greedy;
  return o;
}

constexpr fault_rates rates{0.02, 0.02, 0.02, 0.02, 0.02, 0.004, 0.006, 0.3};

void print(const ledger& total, std::uint64_t runs) {
  const auto line = [](const char* what, std::uint64_t number) { std::printf("  %-42s %10" PRIu64 "\n", what, number); };
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
  line("made unobservable by a kill", total.masked);
  line("= consequences expected", total.injected());
  std::printf("counted\n");
  line("duplicates", total.duplicates);
  line("stale", total.stale);
  line("corrupt", total.corrupt);
  line("truncated", total.truncated);
  line("timeouts", total.timeouts);
  line("= counted", total.counted());
}

}  // namespace

TEST_CASE("NET-4 NET-5 fault schedules: the text is that of the fault-free run and every fault is counted once") {
  ledger total;
  const std::uint64_t runs = schedules();
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    simulation_options o = options_of(seed);
    simulation clean(o);
    const bool clean_run_ended = clean.run();
    INFO("schedule ", seed, " ", clean.trouble());
    CHECK(clean_run_ended);
    CHECK(clean.counts().counted() == 0);
    CHECK(clean.text().size() == o.tokens);
    o.rates = rates;
    simulation faulted(o);
    const bool session_ended_well = faulted.run();
    INFO(faulted.trouble());
    CHECK(session_ended_well);
    const bool same_text = faulted.text() == clean.text();
    CHECK(same_text);
    const bool injected_is_counted = faulted.counts().injected() == faulted.counts().counted();
    CHECK(injected_is_counted);
    if (!clean_run_ended || !session_ended_well || !same_text || !injected_is_counted) return;
    total.add(faulted.counts());
  }
  CHECK(total.injected() == total.counted());
  if (runs >= 10000) {
    print(total, runs);
    for (const std::uint64_t injected : {total.drop, total.duplicate, total.reorder, total.truncate, total.flip, total.kill_edge + total.kill_edge_blank,
                                         total.kill_cloud + total.kill_cloud_blank}) {
      CHECK(injected >= 10000);
    }
  }
}

TEST_CASE("NET-5 heavy faults: one message in three suffers") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    simulation_options o = options_of(seed);
    simulation clean(o);
    REQUIRE(clean.run());
    o.rates = {0.07, 0.07, 0.07, 0.06, 0.06, 0.01, 0.01, 0.3};
    simulation faulted(o);
    const bool session_ended_well = faulted.run();
    INFO("schedule ", seed, " ", faulted.trouble());
    CHECK(session_ended_well);
    CHECK(faulted.text() == clean.text());
  }
}

TEST_CASE("NET-5 a stream survives faults and restarts with the same text") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    simulation_options o = options_of(0);
    o.seed = o.session_id = seed;
    o.mode = sv::session_mode::stream;
    simulation clean(o);
    REQUIRE(clean.run());
    CHECK(clean.text().size() == o.tokens);
    CHECK(clean.counts().counted() == 0);
    o.rates = {0.02, 0.02, 0.02, 0.02, 0.02, 0.002, 0.002, 0.3};
    simulation faulted(o);
    const bool session_ended_well = faulted.run();
    INFO("schedule ", seed, " ", faulted.trouble());
    CHECK(session_ended_well);
    CHECK(faulted.text() == clean.text());
  }
}
