// SPDX-License-Identifier: Apache-2.0
#include <specverify/distribution/fp16_law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

using specverify::digest_workspace_size;
using specverify::errc;
using specverify::fp16_law;
using specverify::law;
using specverify::row_transform;
using specverify::workspace;

namespace {

struct outcome {
  specverify::status why{};
  law made{};
  std::size_t used = 0;
  std::vector<std::byte> memory{};
};

outcome make(const std::vector<double>& logits, const row_transform& transform = {}, std::size_t spare = 0) {
  const auto vocab_size = static_cast<std::uint32_t>(logits.size());
  std::vector<std::byte> bytes(digest_workspace_size(vocab_size, transform, {}));
  workspace reading_space{std::span(bytes)};
  const auto row = specverify::logits_row(std::span<const double>(logits));
  const auto reading = specverify::read_row(specverify::exec::seq, row, transform, {}, reading_space);
  REQUIRE(reading.ok());
  outcome out;
  out.memory.resize(spare > 0 ? spare : specverify::fp16_law_workspace_size(vocab_size));
  workspace space{std::span(out.memory)};
  const auto made = fp16_law(*reading, space);
  out.why = made.error();
  if (made) out.made = *made;
  out.used = space.used();
  return out;
}

}  // namespace

TEST_CASE("fp16_law by hand: powers of two are exact") {
  const outcome out = make({std::log(4.0), std::log(2.0), std::log(1.0), std::log(1.0), -1000.0});
  REQUIRE(out.why.ok());
  CHECK(check(out.made).ok());
  CHECK(out.made.count(0) == 1u << 23);
  CHECK(out.made.count(1) == 1u << 22);
  CHECK(out.made.count(2) == 1u << 21);
  CHECK(out.made.count(3) == 1u << 21);
  CHECK(out.made.count(4) == 0);
  CHECK(out.made.resolution == 1u << 24);
  CHECK(out.made.vocab_size == 5);
}

TEST_CASE("T27 fp16_law: the resolution is the sum that the rounding left, near 2^24") {
  std::vector<double> logits;
  for (int i = 0; i < 3000; ++i) logits.push_back(-2.0 * std::log(i + 1.0));
  const outcome out = make(logits);
  REQUIRE(out.why.ok());
  CHECK(check(out.made).ok());
  CHECK(out.made.resolution == doctest::Approx(16777216.0).epsilon(1e-3));
  CHECK(out.made.resolution != 1u << 24);
  CHECK(out.made.count(0) / 16777216.0 == doctest::Approx(1 / 1.644601).epsilon(1e-3));
}

TEST_CASE("fp16_law at temperature 0 is the point mass") {
  row_transform greedy;
  greedy.temperature = 0;
  const outcome out = make({1.0, 3.0, 3.0}, greedy);
  REQUIRE(out.why.ok());
  CHECK(out.made.size == 1);
  CHECK(out.made.count(1) == out.made.resolution);
}

TEST_CASE("fp16_law gives its space back on error") {
  const outcome out = make({1.0, 3.0, 3.0}, {}, 100);
  CHECK(out.why.code == errc::workspace_too_small);
  CHECK(out.used == 0);
  CHECK(out.made.size == 0);
}
