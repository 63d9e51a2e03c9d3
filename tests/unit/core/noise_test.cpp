// SPDX-License-Identifier: Apache-2.0
// Shared noise against tests/noise/golden.txt, which golden_test.py computed in exact integers and decimal logarithms,
// and against tests/noise/engines.txt, which make_vectors.py recorded from the samplers of vLLM and SGLang.
#include <specverify/core/noise.hpp>
#include <specverify/row/reading.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

constexpr noise_kind of_engines[] = {noise_kind::vllm_fp32, noise_kind::vllm_fp64, noise_kind::sglang};

noise_kind kind_named(const std::string& name) {
  if (name == "vllm_fp32") return noise_kind::vllm_fp32;
  return name == "vllm_fp64" ? noise_kind::vllm_fp64 : noise_kind::sglang;
}

//! Calls `check(noise, position, fields)` for each line of the kind `wanted` in engines.txt; `position` is that of the
//! token drawn.
template <class Check>
void for_each_recorded(const std::string& wanted, int expected, const Check& check) {
  std::ifstream file("tests/noise/engines.txt");
  REQUIRE(file.good());
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string what, kind;
    std::int64_t seed = 0;
    std::uint32_t position = 0;
    fields >> what >> kind >> seed >> position;
    if (what != wanted) continue;
    check(coupling_noise{kind_named(kind), static_cast<std::uint64_t>(seed)}, position + 1, fields);
    REQUIRE(!fields.fail());
    ++lines;
  }
  CHECK(lines == expected);
}

//! The uniform number from which the time is computed.
double uniform_of(const coupling_noise& noise, std::uint32_t position, std::uint32_t id) {
  const std::uint32_t word = noise.high_words(position, id / 4).word[id % 4];
  if (noise.kind == noise_kind::vllm_fp32) return static_cast<double>(detail::vllm_uniform(word));
  if (noise.kind == noise_kind::sglang) return detail::sglang_uniform(~word);
  const coupling_noise narrow{noise_kind::vllm_fp32, noise.key};
  return detail::vllm_wide_uniform(~word, narrow.high_words(position, id / 4).word[id % 4]);
}

//! The logits of a row of make_vectors.py.
std::vector<float> recorded_row(std::uint32_t row) {
  std::vector<float> made(1500);
  for (std::uint32_t id = 0; id < made.size(); ++id)
    made[id] = static_cast<float>((id * 2654435761u + row * 40503u) >> 16 & 4095u) / 512.0f;
  return made;
}

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

TEST_CASE("noise: the uniform numbers and times are those that the engines' files gave") {
  for_each_recorded("noise", 336, [](const coupling_noise& noise, std::uint32_t position, std::istringstream& fields) {
    std::uint32_t id = 0;
    std::string u, gumbel;
    fields >> id >> u >> gumbel;
    CHECK(uniform_of(noise, position, id) == std::strtod(u.c_str(), nullptr));
    const double time = noise.time(position, static_cast<token_id>(id));
    const double off = std::fabs(-std::log(time) - std::strtod(gumbel.c_str(), nullptr));
    const bool is_near = off <= (noise.kind == noise_kind::vllm_fp32 ? 5e-7 : 1e-14);
    CHECK(is_near);
    const double of_its_word = noise.time_of(position, id, noise.high_words(position, id / 4).word[id % 4]);
    CHECK(of_its_word == time);
  });
}

TEST_CASE("noise: the races have the winners that the engines drew") {
  std::vector<std::byte> memory(digest_workspace_size(1500, {}, race_request(1500)));
  for_each_recorded("token", 120, [&](const coupling_noise& noise, std::uint32_t position, std::istringstream& fields) {
    std::uint32_t row = 0;
    row_transform transform;
    token_id drawn = no_token;
    fields >> row >> transform.temperature >> drawn;
    const std::vector<float> logits = recorded_row(row);
    workspace scratch{std::span(memory)};
    const auto read = read_row(exec::simd, logits_row<float>(logits), transform, race_request(1500), scratch);
    REQUIRE(read.ok());
    CHECK(*read->race(noise, position) == drawn);
  });
}

TEST_CASE("noise: an engine's times grow with their words, and are never 0 or infinite") {
  for (const noise_kind kind : of_engines) {
    const coupling_noise noise{kind, 7};
    const bool is_exact = kind != noise_kind::vllm_fp64;  // the time depends on a second hash too
    double before = 0;
    for (int shift = 0; shift <= 32; ++shift) {
      const std::uint64_t end = std::uint64_t{1} << shift;
      for (const std::uint64_t bits : {end - 1, end, end + end / 4, end + end / 2}) {
        if (bits >> 32 != 0) continue;
        const auto word = static_cast<std::uint32_t>(bits);
        const double time = noise.time_of(1, 2, word);
        CHECK(time >= before);
        CHECK(time > 0);
        CHECK(std::isfinite(time));
        CHECK(time * (1 + 0x1.0p-23) >= word * 0x1.0p-32);
        if (is_exact || word > 8) before = time;
      }
    }
  }
  CHECK(coupling_noise{noise_kind::sglang, 7}.time_of(1, 2, 0) == 0x1.0p-32);
  CHECK(coupling_noise{noise_kind::vllm_fp32, 7}.time_of(1, 2, 0xFFFFFFFFu) < 16.64);
  CHECK(detail::vllm_wide_uniform(~0u, ~0u) == 1.0 - 0x1.0p-53);
}

TEST_CASE("noise: a kind is known or refused") {
  for (unsigned kind = 0; kind < 256; ++kind) {
    const bool is_known = kind >= 1 && kind <= 4;
    CHECK(is_noise(static_cast<noise_kind>(kind)) == is_known);
  }
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
  for (std::uint8_t kind = 1; kind <= static_cast<std::uint8_t>(last_noise_kind); ++kind) {
    const coupling_noise noise{static_cast<noise_kind>(kind), 0x5eed};
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
}
