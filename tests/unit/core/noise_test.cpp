// SPDX-License-Identifier: Apache-2.0
// Shared noise against tests/noise/golden.txt, which golden_test.py computed in exact integers and decimal logarithms.
#include <specverify/core/noise.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

using namespace specverify;

namespace {

//! Calls `check(key, position, token, h, time)` for each line; `key` is "-" for a line about the logarithm only.
template <class Check>
void for_each_golden(const Check& check) {
  std::ifstream file("tests/noise/golden.txt");
  REQUIRE(file.good());
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string key, position, token, h;
    double time = 0;
    fields >> key >> position >> token >> h >> time;
    REQUIRE(!fields.fail());
    check(key, position, token, std::stoull(h, nullptr, 16), time);
    ++lines;
  }
  CHECK(lines == 95);
}

constexpr double precision = 0x1.0p-50;

}  // namespace

TEST_CASE("noise: words and times are the golden ones") {
  for_each_golden(
      [](const std::string& key, const std::string& position, const std::string& token, std::uint64_t h, double time) {
        const double off_the_logarithm = std::fabs(detail::exponential_time(h) / time - 1);
        CHECK(off_the_logarithm <= precision);
        if (key == "-") return;
        const coupling_noise noise{noise_kind::philox, std::stoull(key, nullptr, 16)};
        const auto at = static_cast<std::uint32_t>(std::stoul(position));
        const auto id = static_cast<std::uint32_t>(std::stoul(token));
        CHECK(noise.high_words(at, id / 4).word[id % 4] == h >> 32);
        const double off_the_golden_time = std::fabs(noise.time(at, static_cast<token_id>(id)) / time - 1);
        CHECK(off_the_golden_time <= precision);
        const double given_its_high_half = noise.time_of(at, id, static_cast<std::uint32_t>(h >> 32));
        CHECK(given_its_high_half == noise.time(at, static_cast<token_id>(id)));
      });
}

TEST_CASE("noise: a time is never 0 or infinite, and grows with its bits") {
  double before = 0;
  for (int shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t low : {std::uint64_t{0}, (std::uint64_t{1} << shift) / 2}) {
      const double time = detail::exponential_time((std::uint64_t{1} << shift) + low);
      const bool grows = time > before || (shift == 0 && low == 0);
      CHECK(grows);
      CHECK(time > 0);
      before = time;
    }
  }
  CHECK(detail::exponential_time(0) == 0x1.0p-65);
  const double largest = detail::exponential_time(~std::uint64_t{0});
  CHECK(largest > 45.05);
  CHECK(largest < 45.06);
}

TEST_CASE("noise: the times of many ids are exponentially distributed with mean 1") {
  const coupling_noise noise{noise_kind::philox, 0x5eed};
  constexpr int ids = 200'000;
  double sum = 0, above_one = 0;
  for (int id = 0; id < ids; ++id) {
    const double time = noise.time(3, id);
    sum += time;
    above_one += time > 1 ? 1 : 0;
  }
  const double mean = sum / ids, share_above_one = above_one / ids, deviation = 1 / std::sqrt(double{ids});
  CHECK(std::fabs(mean - 1) < 5 * deviation);
  CHECK(std::fabs(share_above_one - std::exp(-1.0)) < 5 * .48 * deviation);
}
