// SPDX-License-Identifier: Apache-2.0
// Traces of the lab: a replay gives the live model's bits, whatever was fed and rolled back; files come back whole or
// are refused by name. Built by apps/lab/CMakeLists.txt; elsewhere this file is empty.
#ifdef SPECVERIFY_TINYLM_DIRECTORY

#include "../../../apps/lab/models.hpp"
#include "../models/embedded_pair.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

namespace {

using lab::token_id;

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A fixed pseudo-random walk: feeds of 1 to 5 tokens, rows of some of them, rollbacks; branches come back to prefixes
// fed before.
template <class A, class B>
void walk_both(A& a, B& b, std::uint32_t seed) {
  std::uint32_t dice = seed;
  const auto below = [&](std::uint32_t n) { return (dice = dice * 1664525u + 1013904223u, (dice >> 8) % n); };
  a.rollback(0);
  b.rollback(0);
  for (int step = 0; step < 40; ++step) {
    std::vector<token_id> ids(1 + below(5));
    for (token_id& id : ids) id = static_cast<token_id>(300 + below(3));
    const std::uint32_t rows = below(static_cast<std::uint32_t>(ids.size()) + 1);
    a.feed(ids, rows);
    b.feed(ids, rows);
    REQUIRE(a.size() == b.size());
    for (std::uint32_t i = 0; i < rows; ++i) {
      REQUIRE(same_bits(a.logits(i), b.logits(i)));
      REQUIRE(same_bits(a.hidden(i), b.hidden(i)));
      REQUIRE(same_bits(a.attention(i), b.attention(i)));
    }
    if (below(3) == 0) {
      const std::uint32_t length = below(a.size() + 1);
      a.rollback(length);
      b.rollback(length);
    }
  }
}

std::filesystem::path folder() {
  const std::filesystem::path made =
      std::filesystem::temp_directory_path() / ("lab_trace_test." + std::to_string(::getpid()));
  std::filesystem::create_directories(made);
  return made;
}

std::vector<char> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_bytes(const std::filesystem::path& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("a recording model says what the live model says") {
  for (const auto& model : {models().drafter, models().target}) {
    const auto trace = std::make_shared<lab::model_trace>(model);
    lab::live_model live(model);
    lab::replayed_model replayed(trace, lab::replay_mode::record, true, 256);
    for (std::uint32_t seed = 1; seed <= 3; ++seed) walk_both(live, replayed, seed);
    CHECK(replayed.counters().recorded > 0);
    CHECK(replayed.counters().recorded < replayed.counters().positions);
    // The same walks again, out of the trace alone.
    lab::replayed_model strict(trace, lab::replay_mode::strict, true, 256);
    for (std::uint32_t seed = 1; seed <= 3; ++seed) walk_both(live, strict, seed);
    CHECK(strict.counters().recorded == strict.counters().positions);
  }
}

TEST_CASE("a full trace records no more and says the same") {
  const auto trace = std::make_shared<lab::model_trace>(models().drafter, 20);
  lab::live_model live(models().drafter);
  lab::replayed_model replayed(trace, lab::replay_mode::record, true, 256);
  for (std::uint32_t seed = 1; seed <= 2; ++seed) walk_both(live, replayed, seed);
  CHECK(trace->sizes().states == 20);
}

TEST_CASE("strict replay names the first position that it does not know") {
  const auto trace = std::make_shared<lab::model_trace>(models().drafter);
  lab::replayed_model recording(trace);
  const token_id ids[] = {256, 300, 301, 302};
  recording.feed(ids, 2);
  lab::replayed_model strict(trace, lab::replay_mode::strict);
  strict.feed(ids, 2);
  strict.rollback(0);
  CHECK_THROWS_WITH(strict.feed(ids, 3), "the trace does not hold position 1 of this text");
  const token_id other[] = {999};
  lab::replayed_model again(trace, lab::replay_mode::strict);
  again.feed(ids, 1);
  CHECK_THROWS_WITH(again.feed(other, 1), "the trace does not hold position 4 of this text");
  lab::replayed_model with_attention(trace, lab::replay_mode::strict, true);
  CHECK_THROWS_WITH(with_attention.feed(ids, 1), "the trace does not hold position 3 of this text");
}

TEST_CASE("bad feeds are errors") {
  lab::replayed_model replayed(std::make_shared<lab::model_trace>(models().drafter));
  const token_id bad[] = {-1}, beyond[] = {4096}, good[] = {300};
  CHECK_THROWS(replayed.feed(bad, 1));
  CHECK_THROWS(replayed.feed(beyond, 1));
  CHECK_THROWS(replayed.feed(good, 2));
  CHECK_THROWS(replayed.feed(std::vector<token_id>(257, 300), 1));
  CHECK(replayed.size() == 0);
  replayed.feed(good, 1);
  CHECK(replayed.size() == 1);
}

TEST_CASE("files: whole, or refused by name") {
  const auto path = folder() / "drafter.trace";
  const auto trace = std::make_shared<lab::model_trace>(models().drafter);
  lab::live_model live(models().drafter);
  lab::replayed_model recording(trace, lab::replay_mode::record, true);
  for (std::uint32_t seed = 1; seed <= 2; ++seed) walk_both(live, recording, seed);
  REQUIRE(trace->save(path) == "");

  const auto loaded = std::make_shared<lab::model_trace>(models().drafter);
  REQUIRE(loaded->load(path) == "");
  CHECK(loaded->sizes().nodes == trace->sizes().nodes);
  CHECK(loaded->sizes().states == trace->sizes().states);
  CHECK(loaded->sizes().attention_rows == trace->sizes().attention_rows);
  lab::replayed_model strict(loaded, lab::replay_mode::strict, true);
  for (std::uint32_t seed = 1; seed <= 2; ++seed) walk_both(live, strict, seed);
  const auto second = folder() / "second.trace";
  REQUIRE(loaded->save(second) == "");
  CHECK(bytes_of(path) == bytes_of(second));

  lab::model_trace into(models().drafter), other(models().target);
  const auto damaged = folder() / "damaged.trace";
  const auto error_of = [&](const std::vector<char>& bytes) {
    write_bytes(damaged, bytes);
    const std::string text = into.load(damaged);
    REQUIRE(into.sizes().nodes == 1);  // nothing was taken over
    return text.substr(std::min(text.size(), damaged.string().size() + 2));
  };
  const std::vector<char> good = bytes_of(path);
  const auto with = [&](std::size_t at, char value) {
    std::vector<char> bytes = good;
    bytes[at] = value;
    return bytes;
  };
  CHECK(into.load(folder() / "none") != "");
  CHECK(error_of({}) == "truncated: no header");
  CHECK(error_of(with(0, 'x')) == "is not a trace");
  CHECK(error_of(with(8, 7)) == "version 7, this program reads 1");
  CHECK(error_of(with(16, static_cast<char>(good[16] ^ 1))) == "recorded with another model or other arithmetic");
  CHECK(other.load(path).find("recorded with another model") != std::string::npos);
  CHECK(error_of(with(27, 1)) == "truncated: fewer nodes than in the header");
  CHECK(error_of(with(32 + 16 + 3, 1)) == "node 1 is before its parent");
  CHECK(error_of(with(32 + 16 + 7, 1)) == "node 1 has no token");
  CHECK(error_of(with(good.size() - 40, static_cast<char>(good[good.size() - 40] ^ 1))) == "checksum differs");
  for (const std::size_t size : {std::size_t{31}, std::size_t{40}, good.size() / 2, good.size() - 9, good.size() - 1}) {
    CHECK(error_of({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}).substr(0, 9) == "truncated");
  }
  std::vector<char> longer = good;
  longer.push_back(0);
  CHECK(error_of(longer) == "has bytes after its checksum");
  std::filesystem::remove_all(folder());
}

#endif
