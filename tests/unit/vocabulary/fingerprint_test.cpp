// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/vocabulary/fingerprint.hpp>

#include <array>
#include <string_view>

using namespace specverify;

namespace {
struct entry {
  token_id id;
  token_class kind;
  std::string_view text;
};
template <std::size_t N>
constexpr vocabulary_fingerprint of(const std::array<entry, N>& entries) {
  fingerprint_builder builder;
  for (const entry& e : entries) (void)builder.add(e.id, e.text, e.kind);
  return builder.finish();
}
}  // namespace

// Values from a Python transcription of FNV-1a with 128-bit integers; its hash of "a" is the published d228cb69
// 6f1a8caf 78912b70 4e4a8964.
TEST_CASE("VOC-2 fingerprint: golden values") {
  CHECK(fingerprint_builder{}.finish() == vocabulary_fingerprint{0x66ad387c16757277u, 0xb806e89d2e80f03du});
  constexpr std::array<entry, 3> words{
      {{0, token_class::special, "<s>"}, {1, token_class::text, " the"}, {2, token_class::text, " cat"}}};
  constexpr vocabulary_fingerprint at_compile_time = of(words);
  CHECK(at_compile_time == vocabulary_fingerprint{0x0d6cba9353ce4ca9u, 0x30ec23a9214046b5u});
  fingerprint_builder bytes;
  const std::array<std::byte, 1> one{std::byte{255}};
  CHECK(bytes.add(7, one, token_class::byte).ok());
  CHECK(bytes.add(100000, std::string_view("\xC3\xA9")).ok());
  CHECK(bytes.finish() == vocabulary_fingerprint{0x119a0efabcc82172u, 0xb195509d43f97627u});
}

TEST_CASE("VOC-2 fingerprint: every part counts") {
  const std::array<entry, 2> base{{{0, token_class::text, "ab"}, {1, token_class::text, "c"}}};
  // boundaries
  for (const std::array<entry, 2>& other :
       {std::array<entry, 2>{{{0, token_class::text, "a"}, {1, token_class::text, "bc"}}},
        // ids
        std::array<entry, 2>{{{0, token_class::text, "ab"}, {2, token_class::text, "c"}}},
        // classes
        std::array<entry, 2>{{{0, token_class::special, "ab"}, {1, token_class::text, "c"}}},
        // order
        std::array<entry, 2>{{{0, token_class::text, "c"}, {1, token_class::text, "ab"}}}}) {
    CHECK_FALSE(of(base) == of(other));
  }
  fingerprint_builder shorter;
  CHECK(shorter.add(0, std::string_view("ab")).ok());
  CHECK_FALSE(shorter.finish() == of(base));
}

TEST_CASE("VOC-3 fingerprint: bad input adds nothing") {
  fingerprint_builder builder;
  CHECK(builder.add(3, std::string_view("x")).ok());
  const vocabulary_fingerprint before = builder.finish();
  CHECK(builder.add(3, std::string_view("y")) == status{errc::ids_not_ascending, part::vocabulary, 1});
  CHECK(builder.add(-1, std::string_view("y")) == status{errc::token_out_of_range, part::vocabulary, 1});
  CHECK(builder.finish() == before);
  CHECK(builder.size() == 1);
}
