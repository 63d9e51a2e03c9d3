// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/codec/prefix_hash.hpp>

#include <array>
#include <set>
#include <vector>

using namespace specverify;

// Golden values from a Python transcription.
TEST_CASE("NET-3 prefix_hash: golden values, token by token") {
  constexpr std::array<std::uint64_t, 4> expected{0xa3635fc07d7bea0eu, 0x7060510f6298414bu, 0x32479e60b6af0177u,
                                                  0x8513cebceaf076e9u};
  constexpr std::array<token_id, 4> text{5, 17, 3, 99};
  std::uint64_t hash = prefix_hash_seed;
  for (std::size_t i = 0; i < text.size(); ++i) {
    hash = extend_prefix_hash(hash, text[i]);
    CHECK(hash == expected[i]);
    CHECK(prefix_hash(std::span(text).first(i + 1)) == expected[i]);
  }
  static_assert(prefix_hash(std::span<const token_id>{}) == prefix_hash_seed);
  CHECK(prefix_hash(std::span(text).subspan(2), expected[1]) == expected[3]);
}

TEST_CASE("NET-3 prefix_hash: texts that differ in one token, in length or in order differ") {
  std::set<std::uint64_t> seen;
  std::vector<token_id> text(40, 0);
  std::size_t texts = 0;
  for (std::size_t length = 0; length <= text.size(); ++length)
    ++texts, seen.insert(prefix_hash(std::span(text).first(length)));
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const token_id other : {1, 2, 255, 65536, (1 << 24) - 1, -1}) {
      text[at] = other;
      ++texts;
      seen.insert(prefix_hash(text));
      text[at] = 0;
    }
  }
  CHECK(seen.size() == texts);
}
