// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/workspace.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/alloc_guard.hpp"

using specverify::errc;
using specverify::part;
using specverify::slice_bytes;
using specverify::status;
using specverify::workspace;
using specverify::workspace_alignment;

TEST_CASE("slices are aligned, disjoint and inside") {
  std::vector<std::byte> bytes(1000);
  for (std::size_t shift = 0; shift < 65; ++shift) {
    workspace space{std::span(bytes).subspan(shift)};
    const auto a = space.take_slice<char>(3);
    const auto b = space.take<double>(5);
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    const auto first = space.at<char>(*a);
    const auto second = *b;
    CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % workspace_alignment == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(second.data()) % workspace_alignment == 0);
    CHECK(first.size() == 3);
    CHECK(second.size() == 5);
    CHECK(reinterpret_cast<const char*>(second.data()) >= first.data() + 3);
    CHECK(reinterpret_cast<const std::byte*>(second.data() + 5) <= bytes.data() + bytes.size());
    CHECK(space.used() == slice_bytes<char>(3) + slice_bytes<double>(5));
    CHECK(space.available() == space.size() - space.used());
  }
}

TEST_CASE("a size function with one alignment to spare always suffices") {
  for (std::size_t shift = 0; shift < 64; ++shift) {
    std::vector<std::byte> bytes(shift + slice_bytes<std::uint32_t>(17) + slice_bytes<std::uint64_t>(9) +
                                 workspace_alignment);
    workspace space{std::span(bytes).subspan(shift)};
    CHECK(space.take<std::uint32_t>(17).ok());
    CHECK(space.take<std::uint64_t>(9).ok());
  }
}

TEST_CASE("what does not fit takes nothing") {
  std::vector<std::byte> bytes(256 + workspace_alignment);
  workspace space{std::span(bytes)};
  const auto fits = static_cast<std::uint32_t>(space.size());
  CHECK_FALSE(space.take<std::uint64_t>(1000).ok());
  CHECK_FALSE(space.take<std::uint64_t>(std::numeric_limits<std::size_t>::max() / 4).ok());
  CHECK_FALSE(space.take<std::byte>(space.size() + 1).ok());
  CHECK(space.take<double>(1000).error() == status{errc::workspace_too_small, part::core, fits / 8});
  CHECK(space.take_slice<std::byte>(fits + 1).error() == status{errc::workspace_too_small, part::core, fits});
  CHECK(space.used() == 0);
  workspace nothing;
  CHECK_FALSE(nothing.take<char>(1).ok());
  CHECK(nothing.size() == 0);
  std::array<std::byte, 1> one{};
  CHECK(workspace{one}.size() <= 1);
}

TEST_CASE("mark and rewind give space back") {
  std::vector<std::byte> bytes(512);
  workspace space{std::span(bytes)};
  const auto kept = space.take_slice<int>(4);
  REQUIRE(kept.ok());
  const std::size_t mark = space.mark();
  const auto scratch = space.take_slice<int>(4);
  REQUIRE(scratch.ok());
  space.rewind(mark);
  CHECK(space.used() == mark);
  const auto again = space.take_slice<int>(4);
  REQUIRE(again.ok());
  CHECK(again->offset == scratch->offset);
  CHECK(kept->offset != again->offset);
}

TEST_CASE("slice_bytes rounds up to the alignment") {
  static_assert(slice_bytes<char>(0) == 0);
  static_assert(slice_bytes<char>(1) == 64);
  static_assert(slice_bytes<double>(8) == 64);
  static_assert(slice_bytes<double>(9) == 128);
}

// The counting operator new of the test executables (tests/support/alloc_guard.cpp).
TEST_CASE("alloc_guard: counts") {
  const specverify_test::alloc_guard guard;
  void* (*volatile make)(std::size_t) = &::operator new;
  void (*volatile release)(void*) = &::operator delete;
  release(make(16));
  CHECK(guard.count() == 1);
}
