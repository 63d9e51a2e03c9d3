// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/support_code.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "support/into.hpp"
#include "unit/codec/exact_bits.hpp"

using namespace specverify;
using specverify_test::exact_binomial;
using specverify_test::into;

namespace {

std::size_t encode(std::span<std::byte> out, std::uint32_t slots, const std::vector<std::uint32_t>& members) {
  range_encoder coder(out);
  subset_encoder subset(coder, slots, static_cast<std::uint32_t>(members.size()));
  for (const std::uint32_t member : members) subset.put(member);
  return coder.finish();
}
bool decode(std::span<const std::byte> bytes, std::uint32_t slots, std::vector<std::uint32_t>& members) {
  range_decoder coder(bytes);
  subset_decoder subset(coder, slots, static_cast<std::uint32_t>(members.size()));
  for (std::uint32_t& member : members) member = subset.next();
  std::size_t length = 0;
  return into(length, coder.finish()).ok() && length == bytes.size();
}

// Bits of a subset without the rounding to bytes: the coder's own odds, summed by coding it many times over.
double bits_of(std::uint32_t slots, const std::vector<std::uint32_t>& members) {
  constexpr int copies = 64;
  std::vector<std::byte> out(1 << 20);
  range_encoder coder(out);
  for (int i = 0; i < copies; ++i) {
    subset_encoder subset(coder, slots, static_cast<std::uint32_t>(members.size()));
    for (const std::uint32_t member : members) subset.put(member);
  }
  coder.uniform(1, 2);  // an odd end, so that no zeros are saved
  return (8.0 * static_cast<double>(coder.finish()) - 4) / copies;
}

std::vector<std::uint32_t> random_subset(std::mt19937_64& random, std::uint32_t slots, std::uint32_t size) {
  std::vector<bool> taken(slots);
  std::vector<std::uint32_t> members;
  while (members.size() < size) {
    const auto at = static_cast<std::uint32_t>(random() % slots);
    if (!taken[at]) members.push_back(at);
    taken[at] = true;
  }
  std::sort(members.begin(), members.end());
  return members;
}

}  // namespace

TEST_CASE("fixed-point log2 and 2^-x against the standard library") {
  double worst = 0;
  for (std::uint32_t x = 1; x < (1u << 26); x += 1 + x / 3000) {
    const long double exact = std::log2(static_cast<long double>(x));
    worst = std::max(worst, static_cast<double>(
                                std::fabs(std::ldexp(static_cast<long double>(detail::log2_fixed(x)), -58) - exact)));
  }
  CHECK(worst < std::ldexp(1.0, -41));
  worst = 0;
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t y = random() >> (random() % 40);
    const long double exact = std::exp2(-std::ldexp(static_cast<long double>(y), -58));
    worst = std::max(worst, static_cast<double>(
                                std::fabs(std::ldexp(static_cast<long double>(detail::exp2_fixed(y)), -63) - exact)));
  }
  CHECK(worst < std::ldexp(1.0, -38));
  static_assert(detail::log2_fixed(1) == 0 && detail::log2_fixed(1024) == std::uint64_t{10} << 58);
  static_assert(detail::exp2_fixed(0) == std::uint64_t{1} << 63 &&
                detail::exp2_fixed(std::uint64_t{3} << 58) == std::uint64_t{1} << 60);
}

TEST_CASE("the survival of a gap falls strictly, and its quantile is its inverse") {
  std::mt19937_64 random(5);
  const auto check = [&](std::uint32_t slots, std::uint32_t members, std::uint32_t gap) {
    const detail::gap_model model(slots, members);
    const std::uint64_t here = model.survival(gap), after = model.survival(gap + 1);
    REQUIRE(here > after);
    REQUIRE(model.quantile(here).gap == gap);
    REQUIRE(model.quantile(after + 1).gap == gap);
    REQUIRE(model.quantile(after + 1 + random() % (here - after)).gap == gap);
  };
  for (const std::uint32_t slots : {16u, 17u, 40u, 99u, 128256u, (1u << 24) + 65535}) {
    for (std::uint32_t members = 2; detail::gap_regime(slots, members); members += 1 + members / 2) {
      const std::uint32_t end = detail::gap_model(slots, members).escape();
      for (std::uint32_t gap = 0; gap < end; gap += 1 + end / 300) check(slots, members, gap);
      check(slots, members, end - 1);
    }
  }
  for (int i = 0; i < 20000; ++i) {
    const auto slots = static_cast<std::uint32_t>(16 + random() % ((1u << 25) - 17));
    const auto members = static_cast<std::uint32_t>(2 + random() % (slots / 8 - 1));
    check(slots, members, static_cast<std::uint32_t>(random() % detail::gap_model(slots, members).escape()));
  }
}

TEST_CASE("every subset of a small set comes back, and the odds of all of them sum to one") {
  for (std::uint32_t slots = 1; slots <= 18; ++slots) {
    for (std::uint32_t size = 0; size <= (slots > 12 ? 2 : slots); ++size) {
      double sum = 0, worst = 0;
      const double ideal = exact_binomial(slots, size).log2();
      for (std::uint32_t mask = 0; mask < (1u << slots); ++mask) {
        if (static_cast<std::uint32_t>(std::popcount(mask)) != size) continue;
        std::vector<std::uint32_t> members;
        for (std::uint32_t i = 0; i < slots; ++i) {
          if ((mask >> i & 1u) != 0) members.push_back(i);
        }
        std::array<std::byte, 16> out{};
        const std::size_t length = encode(out, slots, members);
        std::vector<std::uint32_t> read(size);
        REQUIRE(decode(std::span<const std::byte>(out).first(length), slots, read));
        REQUIRE(read == members);
        if (slots > 15 && size == 2) {
          const double bits = bits_of(slots, members);
          sum += std::exp2(-bits);
          worst = std::max(worst, bits - ideal);
        }
      }
      if (slots > 15 && size == 2) {
        CHECK(sum > 0.97);
        CHECK(sum < 1.02);
        CHECK(worst < 0.3);
      }
    }
  }
}

TEST_CASE("of all strings of up to two bytes, exactly the C(20, 3) codes are accepted") {
  int accepted = 0;
  for (std::uint32_t value = 0; value < 65536 + 256 + 1; ++value) {
    std::array<std::byte, 2> bytes{};
    std::span<const std::byte> given;
    if (value < 65536) {
      bytes = {static_cast<std::byte>(value >> 8), static_cast<std::byte>(value & 255u)};
      given = bytes;
    } else if (value < 65536 + 256) {
      bytes[0] = static_cast<std::byte>(value - 65536);
      given = std::span<const std::byte>(bytes).first(1);
    }
    std::vector<std::uint32_t> members(3);
    if (!decode(given, 20, members)) continue;
    ++accepted;
    std::array<std::byte, 16> out{};
    REQUIRE(encode(out, 20, members) == given.size());
    REQUIRE(std::equal(given.begin(), given.end(), out.begin()));
  }
  CHECK(accepted == 1140);
}

TEST_CASE("any subset costs log2 C(n, k): random, packed at either end, evenly spread") {
  std::mt19937_64 random(11);
  struct line {
    std::uint32_t slots, size;
  };
  for (const line& at : {line{128256, 2},
                         {128256, 8},
                         {128256, 64},
                         {128256, 1024},
                         {50257, 100},
                         {99, 7},
                         {99, 63},
                         {999, 120},
                         {1u << 24, 64}}) {
    const std::uint32_t slots = at.slots, size = at.size;
    const double ideal = exact_binomial(slots, size).log2();
    std::vector<std::uint32_t> low, high, even;
    for (std::uint32_t i = 0; i < size; ++i) {
      low.push_back(i);
      high.push_back(slots - size + i);
      even.push_back(static_cast<std::uint32_t>(std::uint64_t{slots} * i / size));
    }
    CAPTURE(slots);
    CAPTURE(size);
    for (const auto& members : {random_subset(random, slots, size), even, high})
      CHECK(std::fabs(bits_of(slots, members) - ideal) < 0.2 + 2e-4 * ideal);
    // The first subset of all has a code of no bytes when it stands alone; behind something else it costs what the
    // others do.
    std::vector<std::byte> out(1 << 16);
    range_encoder coder(out);
    for (int i = 0; i < 8; ++i) {
      coder.uniform(1, 2);
      subset_encoder subset(coder, slots, size);
      for (const std::uint32_t member : low) subset.put(member);
    }
    coder.uniform(1, 2);
    CHECK(std::fabs((8.0 * static_cast<double>(coder.finish()) - 9 - 4) / 8 - ideal) < 1);
  }
}

TEST_CASE("random subsets of random sets come back") {
  std::mt19937_64 random(13);
  std::vector<std::byte> out(1 << 16);
  for (int run = 0; run < 3000; ++run) {
    const auto slots = static_cast<std::uint32_t>(1 + random() % (std::uint64_t{1} << (1 + random() % 17)));
    const auto size = static_cast<std::uint32_t>(random() % (std::min<std::uint64_t>(slots, 300) + 1));
    const auto members = random_subset(random, slots, size);
    const std::size_t length = encode(out, slots, members);
    REQUIRE(8.0 * static_cast<double>(length) < exact_binomial(slots, size).log2() + 8.5);
    std::vector<std::uint32_t> read(size);
    REQUIRE(decode(std::span<const std::byte>(out).first(length), slots, read));
    REQUIRE(read == members);
  }
}

TEST_CASE("T29 hostile bytes give ascending members inside the set, and are accepted only as the code of these") {
  std::mt19937_64 random(17);
  int accepted = 0;
  for (int run = 0; run < 20000; ++run) {
    std::array<std::byte, 24> bytes{};
    for (std::byte& at : bytes) at = static_cast<std::byte>(run % 3 == 0 ? 0xff - random() % 2 : random());
    const auto slots = static_cast<std::uint32_t>(1 + random() % (std::uint64_t{1} << (1 + random() % 20)));
    const auto size = static_cast<std::uint32_t>(random() % (std::min<std::uint64_t>(slots, 40) + 1));
    range_decoder coder(bytes);
    subset_decoder subset(coder, slots, size);
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < size; ++i) {
      members.push_back(subset.next());
      REQUIRE(members[i] >= (i == 0 ? 0 : members[i - 1] + 1));
      REQUIRE(members[i] < slots);
    }
    std::size_t length = 0;
    if (!into(length, coder.finish()).ok()) continue;
    ++accepted;
    std::array<std::byte, 64> again{};
    REQUIRE(encode(again, slots, members) == length);
    REQUIRE(std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length), again.begin()));
  }
  CHECK(accepted > 1000);  // bytes that end before the members do are the codes of subsets packed at the low end
}
