// SPDX-License-Identifier: Apache-2.0
// Fault schedules of every rule over every transport: kills between any two outputs, also of both sides at once;
// journals cut to any prefix; broken connections; brokers that outlive both sides; datagrams that are lost, copied,
// late and damaged; engines that do not repeat their rows; clocks that jump; hosts that end a text; and clouds that
// lie, forget or are silent. Committed text must not change, and both ends must have the same text. If nothing was cut,
// it must equal the text of a run without faults. There are 1 000 schedules, 100 000 with SPECVERIFY_LONG=1 (with a
// table), or SPECVERIFY_SCHEDULES of them.
#include <doctest/doctest.h>

#include <session/simulation.hpp>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace specverify_test;

namespace {

//! As many as SPECVERIFY_SCHEDULES says, else `in_long` with SPECVERIFY_LONG=1, else `in_short`.
std::uint64_t schedules(std::uint64_t in_short = 1000, std::uint64_t in_long = 100000) {
  if (const char* number = std::getenv("SPECVERIFY_SCHEDULES")) return std::strtoull(number, nullptr, 10);
  return std::getenv("SPECVERIFY_LONG") != nullptr ? in_long : in_short;
}

//! What the lives of an engine may add to its logits.
constexpr std::array<float, 4> jitters{0.0F, 1e-5F, 1e-3F, 1e-2F};

struct drawn_schedule {
  kind_of_system kind = kind_of_system::token;
  simulated_system system{};
  schedule with{};
};

//! One in ten demands `unconditional`, one in twelve has a cloud that is not honest.
drawn_schedule draw_schedule(std::uint64_t seed) {
  dice chance(mix(seed ^ 0x5C4ED));
  drawn_schedule made;
  const bool unconditional = chance.chance(0.1);
  constexpr std::array of_law{kind_of_system::token, kind_of_system::greedy, kind_of_system::shared_noise,
                              kind_of_system::stream};
  made.kind = unconditional ? of_law[chance.below(of_law.size())] : all_kinds[chance.below(all_kinds.size())];
  made.system = draw_system(made.kind, seed, unconditional, chance);
  schedule& with = made.with;
  with.seed = seed;
  constexpr std::array links{link_kind::pipe,      link_kind::pipe,      link_kind::broker,
                             link_kind::datagrams, link_kind::datagrams, link_kind::copies};
  constexpr std::array<double, 3> noises{0, 0.1, 0.3}, copies{0, 0.2, 0.5};
  with.link = links[chance.below(links.size())];
  with.faults = static_cast<std::uint32_t>(chance.below(9));
  with.cuts = chance.chance(0.6);
  if (with.link == link_kind::datagrams) with.noise = noises[chance.below(noises.size())];
  if (with.link == link_kind::datagrams || with.link == link_kind::copies)
    with.copies = copies[chance.below(copies.size())];
  with.edge_jitter = with.cloud_jitter = chance.chance(0.5) ? jitters[1 + chance.below(3)] : 0;
  if (chance.chance(0.1)) with.stop_at = 1 + chance.below(150);
  if (chance.chance(1.0 / 12)) with.liar = static_cast<lie>(1 + chance.below(4));
  return made;
}

//! What came of schedules.
struct outcomes {
  std::map<std::string, std::uint64_t> ends{};
  simulation_counts all{};
  link_counts links{};
  std::uint64_t compared = 0;
  sv::session_statistics counts{};
};

//! Runs one schedule. Returns what is wrong with it: nothing, if all is well.
std::string run_and_check(const drawn_schedule& drawn, outcomes& seen) {
  simulation run(drawn.system, drawn.with);
  if (!run.run()) return run.trouble();
  const bool honest = drawn.with.liar == lie::none;
  const bool unconditional = drawn.system.service.required == sv::guarantee::unconditional;
  const sv::status why = run.reason();
  seen.ends[std::string(honest ? "honest" : "lying cloud") + (unconditional ? ", unconditional: " : ": ") +
            (why.ok() ? "finished" : sv::name(why.code))] += 1;
  seen.all += run.counts();
  seen.links += run.link();
  sv::merge(seen.counts, run.edge_statistics());
  if (!honest) {
    const bool believed =
        why.ok() && !run.was_stopped() && (drawn.with.liar == lie::silent || drawn.with.liar == lie::forgets);
    return believed ? "a lie was believed" : "";
  }
  if (!why.ok() || run.was_cut() || drawn.with.edge_jitter > 0 || drawn.kind == kind_of_system::ahead) return "";
  const bool keeps_drafts = drawn.system.device.journal_drafts == sv::draft_journaling::always;
  if (drawn.kind == kind_of_system::learns && !keeps_drafts) return "";  // its laws follow from what it has learnt
  seen.compared += 1;
  simulation calm(drawn.system, {.seed = drawn.with.seed});
  if (!calm.run()) return "without faults: " + calm.trouble();
  std::vector<token_id> expected = calm.text();
  if (run.was_stopped()) expected.resize(std::min(expected.size(), run.text().size()));
  if (expected != run.text()) return "another text than without faults";
  learnt learned = run.learned();
  if (run.lost_a_table()) learned.draft_bytes = calm.learned().draft_bytes;  // the same drafts in another code
  const bool waits = drawn.system.device.on_link_loss == sv::link_loss::wait;
  if (keeps_drafts && waits && !run.was_stopped() && calm.learned() != learned)
    return "learned something else than without faults";
  return "";
}

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
