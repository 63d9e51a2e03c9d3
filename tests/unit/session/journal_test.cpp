// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/session/journal.hpp>

#include "forged.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

using namespace specverify;

namespace {

struct small {
  std::uint32_t number = 0;
};
struct large {
  std::uint64_t number = 0;
};
template <class Field, class Self>
constexpr void journal_fields(Field& field, Self& snapshot) noexcept {
  field(snapshot.number);
}

struct file {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> ends{0};
  void append(std::uint32_t first, std::vector<token_id> ids, small snapshot) {
    const std::vector<std::byte> record = specverify_test::journal_record(first, ids, snapshot);
    bytes.insert(bytes.end(), record.begin(), record.end());
    ends.push_back(bytes.size());
  }
};

struct content {
  status outcome;
  std::array<token_id, 16> text{};
  small last{77};
  journal_reading found;
};
content read(std::span<const std::byte> bytes) {
  content c;
  const auto made = read_journal<small>(bytes, c.text);
  c.outcome = made.error();
  if (made) c.found = made->found;
  if (made && made->last) c.last = *made->last;
  return c;
}

}  // namespace

TEST_CASE("journal: golden bytes of a record") {
  file f;
  f.append(3, {7, -1}, {0x01020304});
  std::string hex;
  for (const std::byte b : f.bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    hex += digits[static_cast<unsigned>(b) >> 4];
    hex += digits[static_cast<unsigned>(b) & 15];
  }
  // From a Python transcription.
  CHECK(hex == "53505605100000000300000002000000fe220ae6a67989000400000007000000ffffffff0403020186b15d61a281e4f7");
}

TEST_CASE("journal: records apply in order, later ids replace earlier ones") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  f.append(3, {4, 5}, {2});
  f.append(2, {9}, {3});
  f.append(3, {}, {4});
  const content c = read(f.bytes);
  CHECK(c.outcome.ok());
  CHECK(c.found.records == 4);
  CHECK(c.found.text_length == 3);
  CHECK(c.last.number == 4);
  CHECK(c.text[2] == 9);
  CHECK_FALSE(c.found.torn);
  CHECK(c.found.valid_bytes == f.bytes.size());
  CHECK(read({}).last.number == 77);
}

TEST_CASE("journal: a file cut anywhere gives the whole records before the cut") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  f.append(3, {4}, {2});
  f.append(4, {5, 6}, {3});
  for (std::size_t cut = 0; cut <= f.bytes.size(); ++cut) {
    const content c = read(std::span(f.bytes).first(cut));
    std::size_t whole = 0;
    while (whole + 1 < f.ends.size() && f.ends[whole + 1] <= cut) ++whole;
    CHECK(c.outcome.ok());
    CHECK(c.found.records == whole);
    CHECK(c.found.valid_bytes == f.ends[whole]);
    CHECK(c.found.torn == (cut != f.ends[whole]));
    CHECK(c.last.number == (whole == 0 ? 77 : whole));
  }
}

TEST_CASE("journal: zero bytes after the last whole record cost no record before them") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  f.append(3, {4}, {2});
  f.append(4, {5, 6}, {3});
  for (const std::size_t zeros : {1u, 7u, 8u, 23u, 24u, 100u, 4096u}) {
    for (std::size_t whole = 0; whole < f.ends.size(); ++whole) {
      std::vector<std::byte> grown(f.bytes.begin(), f.bytes.begin() + static_cast<std::ptrdiff_t>(f.ends[whole]));
      grown.resize(grown.size() + zeros);
      const content c = read(grown);
      CAPTURE(zeros);
      CAPTURE(whole);
      CHECK(c.outcome.ok());
      CHECK(c.found.records == whole);
      CHECK(c.found.valid_bytes == f.ends[whole]);
      CHECK(c.found.torn);
      CHECK(c.last.number == (whole == 0 ? 77 : whole));
    }
  }
}

TEST_CASE("journal: a record whose end was never written is zero, and costs no record before it") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  f.append(3, {0x01010101, 0x01010101}, {0x01010101});
  const std::size_t second = f.ends[1], end = f.ends[2];
  for (std::size_t written = second; written <= end - detail::journal_check_bytes; ++written) {
    if (written > second + 16 && written < second + detail::journal_head_bytes) continue;  // within a check
    std::vector<std::byte> cut = f.bytes;
    std::fill(cut.begin() + static_cast<std::ptrdiff_t>(written), cut.end(), std::byte{0});
    cut.resize(4096);
    CAPTURE(written);
    const content c = read(cut);
    CHECK(c.outcome.ok());
    CHECK(c.found.records == 1);
    CHECK(c.found.valid_bytes == second);
    CHECK(c.found.torn);
  }
  std::vector<std::byte> middle = f.bytes;  // another record follows: it was written to its end
  std::fill(middle.begin() + 30, middle.begin() + static_cast<std::ptrdiff_t>(second), std::byte{0});
  CHECK(read(middle).outcome.code == errc::journal_corrupt);
  std::vector<std::byte> check = f.bytes;
  check.back() = ~check.back();
  check.resize(4096);
  CHECK(read(check).outcome.code == errc::journal_corrupt);
}

TEST_CASE("journal: every flipped bit is noticed") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  f.append(3, {4}, {2});
  for (std::size_t bit = 0; bit < 8 * f.bytes.size(); ++bit) {
    std::vector<std::byte> damaged = f.bytes;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const content c = read(damaged);
    CHECK(c.outcome.code == errc::journal_corrupt);
    CHECK(c.outcome.where == (bit / 8 < f.ends[1] ? 0 : f.ends[1]));
  }
}

TEST_CASE("journal: spans that are too small") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  std::array<token_id, 2> two{};
  CHECK(read_journal<small>(f.bytes, two).error().code == errc::output_too_small);
  std::array<std::byte, 8> tiny{};
  CHECK(detail::write_journal_bytes({}, tiny).error().code == errc::output_too_small);
  CHECK(tiny == std::array<std::byte, 8>{});  // nothing was written
}

TEST_CASE("journal: a journal of another layout, or with other snapshots, is refused by name") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  for (const unsigned layout : {unsigned{'J'}, 3u, 4u, 6u}) {  // all have the same head; the first one was called J
    std::vector<std::byte> other = f.bytes;
    other[3] = static_cast<std::byte>(layout);
    numeric::store_le(other.data() + 16, numeric::fnv1a(std::span(other).first(16)), 8);
    CHECK(read(other).outcome.code == errc::unsupported);
  }
  std::array<token_id, 16> text{};
  CHECK(read_journal<large>(f.bytes, text).error().code == errc::size_mismatch);
}

TEST_CASE("journal: a draft without a snapshot is kept beside the last one") {
  file f;
  f.append(0, {1, 2, 3}, {1});
  const std::array<std::byte, 3> kept{std::byte{7}, std::byte{8}, std::byte{9}};
  const std::size_t at = f.bytes.size();
  f.bytes.resize(at + detail::journal_bytes(0, 0, 3));
  REQUIRE(detail::write_journal_bytes({3, {}, {}, kept}, std::span(f.bytes).subspan(at)).ok());
  std::array<token_id, 16> text{};
  const auto both = read_journal<small>(f.bytes, text);
  REQUIRE(both.ok());
  CHECK(both->last->number == 1);
  CHECK(both->text.size() == 3);
  CHECK(std::equal(both->draft.begin(), both->draft.end(), kept.begin(), kept.end()));
  CHECK(read_journal<small>(std::span(f.bytes).subspan(at), text).error().code == errc::journal_corrupt);
}
