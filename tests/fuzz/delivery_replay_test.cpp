// SPDX-License-Identifier: Apache-2.0
// Replays the committed schedules of delivery's fuzz target, and random ones, since a schedule can be any bytes.
#include <doctest/doctest.h>

#include "fuzz/corpus.hpp"
#include "fuzz/delivery_body.hpp"

#include <random>

TEST_CASE("T29 fuzz replay: delivery") {
  std::uint64_t messages = 0, schedules = 0;
  for (const auto& [name, schedule] : specverify_fuzz::corpus_of("delivery")) {
    messages += specverify_fuzz::delivery_input(schedule);
    schedules += 1;
  }
  CHECK(schedules >= 12);
  CHECK(messages >= schedules);
  std::mt19937 random(7);
  messages = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> schedule(random() % 3000);
    for (std::byte& b : schedule) b = static_cast<std::byte>(random() & 255u);
    messages += specverify_fuzz::delivery_input(schedule);
  }
  CHECK(messages > 2000);
}
