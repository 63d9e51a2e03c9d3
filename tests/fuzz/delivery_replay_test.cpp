// SPDX-License-Identifier: Apache-2.0
// Schedules as a fuzzer would write them; its findings would stand in tests/fuzz/corpus/delivery.
#include <doctest/doctest.h>

#include "fuzz/delivery_body.hpp"

#include <random>

TEST_CASE("T29 fuzz replay: delivery") {
  std::mt19937 random(7);
  std::uint64_t messages = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> schedule(random() % 3000);
    for (std::byte& b : schedule) b = static_cast<std::byte>(random() & 255u);
    messages += specverify_fuzz::delivery_input(schedule);
  }
  CHECK(messages > 2000);
}
