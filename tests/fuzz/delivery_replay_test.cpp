// SPDX-License-Identifier: Apache-2.0
// The committed schedules of delivery's fuzz target, and random ones.
#include <doctest/doctest.h>

#include "fuzz/delivery_body.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

TEST_CASE("T29 fuzz replay: delivery") {
  const std::filesystem::path folder = "tests/fuzz/corpus/delivery";
  REQUIRE(std::filesystem::exists(folder));
  std::uint64_t messages = 0, schedules = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> schedule{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    messages += specverify_fuzz::delivery_input(std::as_bytes(std::span<const char>(schedule)));
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
