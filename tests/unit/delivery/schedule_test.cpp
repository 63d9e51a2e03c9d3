// SPDX-License-Identifier: Apache-2.0
// Random schedules: datagrams are lost, copied at any age, late, damaged and forged; either side is killed at any time.
// What arrives is what was sent, in order and once, within one incarnation; when the faults end, everything arrives.
#include <doctest/doctest.h>

#include "world.hpp"

#include <cstdlib>
#include <random>
#include <string>

using namespace specverify_test;

namespace {

struct random_choices {
  std::mt19937 random;
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; }
  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); }
};

void check(const faults& with, unsigned usual) {
  const unsigned count = std::getenv("SPECVERIFY_LONG") != nullptr ? 100 * usual : usual;
  fault_counts all;
  const auto expect = [](bool holds, const char* what) { CHECK_MESSAGE(holds, std::string(what)); };
  for (unsigned seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    random_choices choices{std::mt19937(seed)};
    delivery_world world(choices, expect, with);
    for (int i = 0; i < 300; ++i) world.step();
    world.settle();
    for (const auto counter :
         {&fault_counts::copies, &fault_counts::losses, &fault_counts::damages, &fault_counts::forgeries,
          &fault_counts::kills, &fault_counts::messages, &fault_counts::lost})
      all.*counter += world.counts.*counter;
  }
  MESSAGE(count, " schedules: ", all.messages, " messages; ", all.losses, " datagrams lost, ", all.copies, " copied, ",
          all.damages, " damaged, ", all.forgeries, " forged; ", all.kills, " kills, ", all.lost, " incarnations lost");
  CHECK(all.messages > 10 * count);
  if (with.killed == 0) CHECK(50 * all.lost <= count);
}

}  // namespace

TEST_CASE("delivery: datagrams that are lost, copied, late, damaged and forged") {
  check({.lost = 0.1, .copied = 0.1, .damaged = 0.1, .forged = 0.05, .killed = 0.01, .late = true}, 300);
}
TEST_CASE("delivery: three in ten lost, and three in ten damaged") {
  check({.lost = 0.3, .damaged = 0.3, .killed = 0.002, .late = true}, 200);
}
TEST_CASE("delivery: copies, late and forged datagrams end no incarnation") {
  check({.lost = 0.1, .copied = 0.1, .damaged = 0.1, .forged = 0.05, .late = true}, 200);
  check({.forged = 0.1, .late = true}, 200);
  check({.copied = 0.2, .forged = 0.1, .timers = false}, 200);
  check({.copied = 0.2, .late = true, .timers = false}, 200);
}
TEST_CASE("delivery: no faults but kills") { check({.killed = 0.02}, 200); }
TEST_CASE("delivery: a transport without timers that copies and loses nothing") {
  check({.copied = 0.2, .killed = 0.02, .late = true, .timers = false}, 300);
}
