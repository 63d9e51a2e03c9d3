// SPDX-License-Identifier: Apache-2.0
// Fault schedules of every rule over every transport: kills between any two outputs, of both sides at once, journals
// cut to any prefix, connections that break, brokers that outlive both sides, datagrams that are lost, copied, late and
// damaged, engines that do not repeat their rows, clocks that jump, hosts that end a text, and clouds that lie, forget
// or say nothing. Committed text stays, both ends have the same text, and it is that of a run without faults where
// nothing was cut. 1 000 schedules, 100 000 with SPECVERIFY_LONG=1 (with a table), or as many as SPECVERIFY_SCHEDULES
// says.
#include <doctest/doctest.h>

#include <session/schedules.hpp>

#include <cinttypes>
#include <cstdio>

using namespace specverify_test;

namespace {

void print(const outcomes& seen, std::uint64_t runs) {
  const auto line = [](const char* what, std::uint64_t number) { std::printf("  %10" PRIu64 "  %s\n", number, what); };
  std::printf("%" PRIu64 " fault schedules\n", runs);
  for (const auto& [what, number] : seen.ends) line(what.c_str(), number);
  line("compared with the run without faults", seen.compared);
  line("messages", seen.all.messages);
  line("kills", seen.all.kills);
  line("journals cut", seen.all.cuts);
  line("clocks that jumped", seen.all.jumps);
  line("deadlines that passed", seen.all.ticks);
  line("connections", seen.links.connections);
  line("connections that broke", seen.links.broken);
  line("connections replaced by an older one", seen.links.replaced);
  line("datagrams lost", seen.links.lost);
  line("datagrams damaged", seen.links.damaged);
  line("datagrams that came late", seen.links.late);
  line("datagrams copied", seen.links.copies);
  line("bits changed by lying clouds", seen.all.lies);
  line("tokens handed over by the edge", seen.all.handed_over);
}

}  // namespace

TEST_CASE("NET-4 NET-5 SEC-1 fault schedules: committed text stays, both ends agree, nobody waits for ever") {
  outcomes seen;
  const std::uint64_t runs = schedules();
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    const std::string trouble = run_and_check(draw_schedule(seed), seen);
    INFO("schedule ", seed, ": ", trouble);
    const bool schedule_ended_well = trouble.empty();
    CHECK(schedule_ended_well);
    failures += schedule_ended_well ? 0 : 1;
    if (failures == 50) return;
  }
  if (runs < 1000) return;
  CHECK(seen.compared > runs / 8);
  for (const std::uint64_t happened :
       {seen.all.kills, seen.all.cuts, seen.all.jumps, seen.all.ticks, seen.all.lies, seen.all.handed_over,
        seen.links.broken, seen.links.lost, seen.links.damaged, seen.links.late, seen.links.copies})
    CHECK(happened > runs / 50);
  if (runs >= 10000) print(seen, runs);
}
