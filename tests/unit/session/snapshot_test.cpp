// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/session/snapshot.hpp>
#include <specverify/sparsify/concepts.hpp>
#include <specverify/sparsify/conformal.hpp>

#include <cstddef>
#include <type_traits>

namespace sv = specverify;

// Journals are read by later versions: sizes and offsets are frozen (64-bit machines, natural alignment).
TEST_CASE("snapshot: an edge's journal keeps its bytes") {
  using plain = sv::edge_snapshot<sv::no_state>;
  using learning = sv::edge_snapshot<sv::conformal::state_type>;
  static_assert(std::is_trivially_copyable_v<plain> && std::is_trivially_copyable_v<learning>);
  CHECK(sizeof(plain) == 432);
  CHECK(offsetof(plain, prefix_hash) == 8);
  CHECK(offsetof(plain, seen) == 16);
  CHECK(offsetof(plain, channel) == 368);
  CHECK(offsetof(plain, draft_key) == 388);
  CHECK(offsetof(plain, epoch) == 396);
  CHECK(offsetof(plain, base_length) == 420);
  CHECK(offsetof(plain, finished) == 425);
  CHECK(offsetof(plain, sparsifier) == 426);
  CHECK(sizeof(learning) == 456);
  CHECK(offsetof(learning, finished) == 425);
  CHECK(offsetof(learning, sparsifier) == 432);
}

TEST_CASE("snapshot: a cloud's journal keeps its bytes") {
  using snapshot = sv::cloud_snapshot;
  static_assert(std::is_trivially_copyable_v<snapshot>);
  CHECK(sizeof(snapshot) == 208);
  CHECK(offsetof(snapshot, salt) == 40);
  CHECK(offsetof(snapshot, format) == 48);
  CHECK(offsetof(snapshot, threshold) == 88);
  CHECK(offsetof(snapshot, truncation) == 104);
  CHECK(offsetof(snapshot, kept) == 136);
  CHECK(offsetof(snapshot, epoch) == 164);
  CHECK(offsetof(snapshot, rule) == 196);
  CHECK(offsetof(snapshot, bonus) == 202);
}
