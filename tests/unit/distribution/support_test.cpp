// SPDX-License-Identifier: Apache-2.0
#include <specverify/distribution/support.hpp>

#include <doctest/doctest.h>

#include <array>

using specverify::check;
using specverify::errc;
using specverify::retained_mass;
using specverify::retained_weight;
using specverify::support;
using specverify::token_id;

namespace {
constexpr std::array<token_id, 3> ids{1, 4, 6};
constexpr std::array<std::uint32_t, 3> weights{10, 0, 1u << 31};
constexpr std::uint64_t listed = (std::uint64_t{1} << 31) + 10;
}  // namespace

TEST_CASE("a support knows its weight and mass") {
  constexpr support kept{ids, weights, 2 * listed, 9};
  static_assert(kept.size() == 3);
  static_assert(retained_weight(kept) == listed);
  static_assert(retained_mass(kept) == 0.5);
  static_assert(check(kept).ok());
  static_assert(check(support{ids, weights, 0, 9}).ok());  // W was not asked for
  static_assert(retained_mass(support{ids, weights, 0, 9}) == 0.0);
}

TEST_CASE("check finds every fault") {
  const auto code = [](const support& broken) { return check(broken).code; };
  const std::array<token_id, 3> twice{1, 4, 4}, negative{-1, 4, 6};
  const std::array<std::uint32_t, 3> heavy{10, (1u << 31) + 1, 0}, nothing{};
  CHECK(code({ids, std::span(weights).first(2), listed, 9}) == errc::size_mismatch);
  CHECK(code({}) == errc::empty_support);
  CHECK(code({twice, weights, listed, 9}) == errc::ids_not_ascending);
  CHECK(code({negative, weights, listed, 9}) == errc::token_out_of_range);
  CHECK(check({ids, weights, listed, 6}) ==
        specverify::status{errc::token_out_of_range, specverify::part::distribution, 2});
  CHECK(check({ids, heavy, listed, 9}) ==
        specverify::status{errc::weight_too_large, specverify::part::distribution, 1});
  CHECK(code({ids, nothing, 5, 9}) == errc::zero_weight);
  CHECK(code({ids, weights, listed - 1, 9}) == errc::size_mismatch);
}
