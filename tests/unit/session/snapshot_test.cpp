// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/session/snapshot.hpp>
#include <specverify/sparsify/concepts.hpp>
#include <specverify/sparsify/conformal.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace sv = specverify;

namespace {

using plain = sv::edge_snapshot<sv::no_state>;
using learning = sv::edge_snapshot<sv::conformal::state_type>;

//! As a journal holds it.
template <class Snapshot>
std::array<std::byte, sv::detail::snapshot_bytes<Snapshot>()> stored(const Snapshot& snapshot) {
  std::array<std::byte, sv::detail::snapshot_bytes<Snapshot>()> bytes;
  bytes.fill(std::byte{0x55});
  sv::detail::store_snapshot(snapshot, bytes.data());
  return bytes;
}

//! A snapshot that was made in memory full of `rubbish`.
template <class Snapshot>
auto stored_from_memory_of(std::byte rubbish) {
  alignas(Snapshot) std::array<std::byte, sizeof(Snapshot)> memory;
  memory.fill(rubbish);
  Snapshot* made = new (memory.data()) Snapshot;
  made->session_id = 7;
  return stored(*made);
}

struct holed {
  std::uint8_t small = 3;
  std::uint64_t large = 4;
};

}  // namespace

// Journals are read by later versions: their bytes are frozen. Another layout has another number (journal_layout).
TEST_CASE("snapshot: a journal keeps its bytes") {
  static_assert(std::is_trivially_copyable_v<plain> && std::is_trivially_copyable_v<learning>);
  static_assert(std::is_trivially_copyable_v<sv::cloud_snapshot>);
  CHECK(sv::detail::snapshot_bytes<plain>() == 520);
  CHECK(sv::detail::snapshot_bytes<learning>() == 520 + 24);
  CHECK(sv::detail::snapshot_bytes<sv::cloud_snapshot>() == 160);
  plain edge;
  edge.session_id = 0x0102030405060708;
  edge.finished = true;
  const auto bytes = stored(edge);
  CHECK(bytes[0] == std::byte{8});
  CHECK(bytes[519] == std::byte{1});
}

TEST_CASE("snapshot: what is written is read back") {
  learning edge;
  edge.seen.accepted_probability[3] = 0.25F;
  edge.channel.round_trip = 0.125F;
  edge.draft_key.word[1] = 9;
  edge.terms.mode = sv::session_mode::stream;
  edge.terms.truncation.top_p = 0.75;
  edge.stop = sv::stop_reason::cancelled;
  edge.needs_no_more = true;
  edge.sparsifier.beta = 0.5;
  const auto bytes = stored(edge);
  learning back;
  REQUIRE(sv::detail::load_snapshot(back, bytes.data()));
  CHECK(back.seen.accepted_probability == edge.seen.accepted_probability);
  CHECK(back.channel.round_trip == edge.channel.round_trip);
  CHECK(back.draft_key == edge.draft_key);
  CHECK(back.terms.mode == sv::session_mode::stream);
  CHECK(back.terms.truncation.top_p == edge.terms.truncation.top_p);
  CHECK(back.stop == sv::stop_reason::cancelled);
  CHECK(back.needs_no_more);
  CHECK_FALSE(back.finished);
  CHECK(back.sparsifier == edge.sparsifier);
  CHECK(stored(back) == bytes);
}

TEST_CASE("snapshot: equal snapshots are equal bytes, whatever the memory held before") {
  CHECK(stored_from_memory_of<learning>(std::byte{0xAA}) == stored_from_memory_of<learning>(std::byte{0}));
  CHECK(stored_from_memory_of<sv::cloud_snapshot>(std::byte{0xAA}) ==
        stored_from_memory_of<sv::cloud_snapshot>(std::byte{0}));
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  std::array<std::byte, sizeof(holed)> bytes;
  bytes.fill(std::byte{0xAA});
  sv::detail::store_state(holed{}, bytes.data());
  for (std::size_t i = 1; i < 8; ++i) CHECK(bytes[i] == std::byte{0});
#endif
#endif
}

TEST_CASE("snapshot: a bool of 3 and an enum beyond its last value are no values") {
  const auto loads = [](std::size_t at, unsigned value) {
    auto bytes = stored(sv::cloud_snapshot{});
    bytes[at] = static_cast<std::byte>(value);
    sv::cloud_snapshot read;
    return sv::detail::load_snapshot(read, bytes.data());
  };
  CHECK(loads(159, 1));
  CHECK_FALSE(loads(159, 2));  // handed_over
  CHECK(loads(51, 4));
  CHECK_FALSE(loads(51, 200));  // terms.format.format
  CHECK(loads(158, 3));
  CHECK_FALSE(loads(158, 4));  // stop
}
