// SPDX-License-Identifier: Apache-2.0
#include <specverify/distribution/law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <type_traits>

using specverify::check;
using specverify::errc;
using specverify::law;
using specverify::token_id;

namespace {
constexpr std::array<token_id, 3> ids{1, 4, 6};
constexpr std::array<std::uint32_t, 3> counts{2, 0, 5};
constexpr law lattice_law{ids.data(), counts.data(), 3, 0, 7, 9};
constexpr law tail_law{ids.data(), counts.data(), 3, 2, 7 + 2 * 6, 9};
}  // namespace

TEST_CASE("a law answers for every id") {
  static_assert(lattice_law.count(1) == 2 && lattice_law.count(4) == 0 && lattice_law.count(6) == 5);
  static_assert(lattice_law.count(0) == 0 && lattice_law.count(8) == 0);
  static_assert(lattice_law.count(-1) == 0 && lattice_law.count(9) == 0 && lattice_law.count(2147483647) == 0);
  static_assert(lattice_law.find(6) == 2 && lattice_law.find(5) == 3);
  static_assert(std::is_trivially_copyable_v<law>);
}

TEST_CASE("a tail is borne by every id that is not listed, and by no other") {
  static_assert(tail_law.count(0) == 2 && tail_law.count(8) == 2 && tail_law.count(5) == 2);
  static_assert(tail_law.count(4) == 0);  // listed with 0
  static_assert(tail_law.count(9) == 0 && tail_law.count(-1) == 0);
  std::uint64_t sum = 0;
  for (token_id id = 0; id < 9; ++id) sum += tail_law.count(id);
  CHECK(sum == tail_law.resolution);
  static_assert(check(tail_law).ok());
  static_assert(check(law{nullptr, nullptr, 0, 3, 12, 4}).ok());  // uniform
}

TEST_CASE("find agrees with a scan for every size") {
  std::array<token_id, 40> even{};
  std::array<std::uint32_t, 40> ones{};
  for (std::size_t i = 0; i < even.size(); ++i)
    even[i] = static_cast<token_id>(2 * i), ones[i] = static_cast<std::uint32_t>(i + 1);
  for (std::uint32_t size = 0; size <= 40; ++size) {
    const law of{even.data(), ones.data(), size, 0, 1, 100};
    for (token_id id = -1; id < 84; ++id) {
      const bool listed = id >= 0 && id % 2 == 0 && id / 2 < static_cast<token_id>(size);
      CHECK(of.count(id) == (listed ? static_cast<std::uint32_t>(id / 2 + 1) : 0));
    }
  }
}

TEST_CASE("check finds every fault") {
  static_assert(check(lattice_law).ok());
  const auto code = [](law broken) { return check(broken).code; };
  law l = lattice_law;
  l.resolution = 6;
  CHECK(code(l) == errc::counts_do_not_sum);
  l.resolution = 0;
  CHECK(code(l) == errc::invalid_resolution);
  l = lattice_law;
  l.vocab_size = 6;
  CHECK(check(l) == specverify::status{errc::token_out_of_range, specverify::part::distribution, 2});
  l.vocab_size = 2;
  CHECK(code(l) == errc::token_out_of_range);
  l.vocab_size = (1u << 24) + 1;
  CHECK(code(l) == errc::vocabulary_too_large);
  l = lattice_law;
  l.size = 0;
  CHECK(code(l) == errc::empty_support);
  const std::array<token_id, 3> twice{1, 4, 4}, falling{4, 1, 6}, negative{-1, 4, 6};
  l = lattice_law;
  l.ids = twice.data();
  CHECK(check(l) == specverify::status{errc::ids_not_ascending, specverify::part::distribution, 2});
  l.ids = falling.data();
  CHECK(check(l).where == 1);
  l.ids = negative.data();
  CHECK(check(l) == specverify::status{errc::token_out_of_range, specverify::part::distribution, 0});
  // Counts that wrap around 2^32 to the resolution do not pass.
  const std::array<std::uint32_t, 3> huge{0xFFFFFFFFu, 1, 7};
  l = lattice_law;
  l.counts = huge.data();
  CHECK(code(l) == errc::counts_do_not_sum);
}
