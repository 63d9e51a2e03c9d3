// SPDX-License-Identifier: Apache-2.0
#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/make_law.hpp>
#include <specverify/testing/chi_square.hpp>

#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <array>
#include <type_traits>
#include <vector>

using specverify::claimed_draft;
using specverify::draft;
using specverify::draw;
using specverify::guarantee;
using specverify::law;
using specverify::make_law;
using specverify::mismatched_draft;
using specverify::purpose;
using specverify::random_block;
using specverify::random_counter;
using specverify::received_draft;
using specverify::token_id;
using specverify::uniforms;

namespace {

// Gives the middle of the numbers that multiply-high maps to `target` out of `bound`.
struct pointing_at {
  std::uint64_t target;
  std::uint64_t bound;
  constexpr random_block operator()(random_counter) const noexcept {
    const std::uint64_t number = (~std::uint64_t{0} / bound) * target + (~std::uint64_t{0} / bound) / 2;
    return {{static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(number), 0, 0}};
  }
};

// How often each id comes when the integer runs once through [0, resolution).
std::vector<std::uint32_t> tally(const law& from) {
  std::vector<std::uint32_t> seen(from.vocab_size, 0);
  for (std::uint32_t target = 0; target < from.resolution; ++target) {
    const token_id token =
        draw(from, uniforms{pointing_at{target, from.resolution}, 0, 0}.at(purpose::draft_draw)).token();
    REQUIRE(token >= 0);
    REQUIRE(static_cast<std::uint32_t>(token) < from.vocab_size);
    ++seen[static_cast<std::size_t>(token)];
  }
  return seen;
}

const std::array<token_id, 4> ids{1, 4, 6, 7};
const std::array<std::uint32_t, 4> counts{2, 0, 5, 1};

}  // namespace

TEST_CASE("draw gives every id exactly its count of the resolution") {
  const auto made = make_law(ids, counts, 9);
  REQUIRE(made.ok());
  const law from = *made;
  CHECK(tally(from) == std::vector<std::uint32_t>{0, 2, 0, 0, 0, 0, 5, 1, 0});
}

TEST_CASE("draw from a law with a tail") {
  const auto from = make_law(ids, counts, 11, 3);
  REQUIRE(from.ok());
  const std::vector<std::uint32_t> seen = tally(*from);
  for (token_id id = 0; id < 11; ++id) CHECK(seen[static_cast<std::size_t>(id)] == from->count(id));
  const auto uniform = make_law({}, {}, 5, 2);
  REQUIRE(uniform.ok());
  CHECK(tally(*uniform) == std::vector<std::uint32_t>{2, 2, 2, 2, 2});
}

TEST_CASE("draw from a point mass") {
  const std::array<token_id, 1> one{8};
  const std::array<std::uint32_t, 1> count{1};
  const auto made = make_law(one, count, 9);
  REQUIRE(made.ok());
  const law from = *made;
  for (std::uint32_t i = 0; i < 100; ++i)
    CHECK(draw(from, uniforms{specverify::philox{{{i, 0}}}, i, 0}.at(purpose::draft_draw)).token() == 8);
}

TEST_CASE("a draft carries the law it was drawn from, also over copied arrays") {
  const auto made = make_law(ids, counts, 9);
  REQUIRE(made.ok());
  const law from = *made;
  const draft drawn = draw(from, uniforms{pointing_at{3, 8}, 0, 0}.at(purpose::draft_draw));
  CHECK(drawn.token() == 6);
  CHECK(drawn.source_law().ids == ids.data());
  CHECK(drawn.source_law().resolution == 8);
  const std::array<token_id, 4> other = ids;
  law copy = from;
  copy.ids = other.data();
  CHECK(drawn.rebound(copy).token() == 6);
  CHECK(drawn.rebound(copy).source_law().ids == other.data());
}

TEST_CASE("COR-1 a draft cannot be made but by draw, a received one not but by the decoder") {
  static_assert(!std::is_constructible_v<draft, token_id, law>);
  static_assert(!std::is_default_constructible_v<draft>);
  static_assert(!std::is_constructible_v<received_draft, token_id, law>);
  static_assert(!std::is_default_constructible_v<received_draft>);
  static_assert(!std::is_convertible_v<claimed_draft, draft> && !std::is_convertible_v<mismatched_draft, draft>);
  static_assert(!std::is_convertible_v<draft, received_draft> && !std::is_convertible_v<received_draft, draft>);
  static_assert(std::is_aggregate_v<claimed_draft> && std::is_aggregate_v<mismatched_draft>);
  static_assert(draft::strength == guarantee::honest_drafter && received_draft::strength == guarantee::honest_drafter);
  static_assert(claimed_draft::strength == guarantee::unconditional && mismatched_draft::strength == guarantee::lossy);
  static_assert(guarantee::lossy < guarantee::honest_drafter && guarantee::honest_drafter < guarantee::unconditional);
  static_assert(std::is_trivially_copyable_v<draft>);
}

TEST_CASE("T33 a million draws follow the law, and a planted bias is seen") {
  const auto made = make_law(ids, counts, 9);
  REQUIRE(made.ok());
  const law from = *made;
  const specverify::philox source{specverify::derive_draft_key(specverify_test::secret_of(7), 7)};
  std::vector<std::uint64_t> seen(9, 0);
  for (std::uint32_t position = 0; position < 1000000; ++position) {
    ++seen[static_cast<std::size_t>(draw(from, uniforms{source, position, 0}.at(purpose::draft_draw)).token())];
  }
  std::vector<double> expected;
  for (token_id id = 0; id < 9; ++id) expected.push_back(from.count(id) / 8.0);
  auto result = specverify::chi_square(seen, expected);
  REQUIRE(result.ok());
  CHECK(result->p_value > 1e-4);
  seen[1] += 3000;  // 0.3 % of the draws
  seen[6] -= 3000;
  result = specverify::chi_square(seen, expected);
  REQUIRE(result.ok());
  CHECK(result->p_value < 1e-4);
}
