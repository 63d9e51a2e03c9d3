// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/testing/chi_square.hpp>

#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

using specverify::decision_uniform;
using specverify::multiply_wide;
using specverify::philox;
using specverify::philox4x32;
using specverify::philox_key;
using specverify::purpose;
using specverify::random_block;
using specverify::random_counter;
using specverify::uniform_integer;

TEST_CASE("Philox4x32-10 gives the published known answers") {
  static_assert(philox4x32(0, 0, 0, 0, {{0, 0}}) == random_block{{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
  static_assert(philox4x32(~0u, ~0u, ~0u, ~0u, {{~0u, ~0u}}) ==
                random_block{{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
  static_assert(philox4x32(0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u, {{0xa4093822u, 0x299f31d0u}}) ==
                random_block{{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
  // Once more at run time, where the compiler cannot fold.
  const volatile std::uint32_t zero = 0;
  CHECK(philox4x32(zero, zero, zero, zero, {{zero, zero}}) ==
        random_block{{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
}

TEST_CASE("counter words are position, round, lane, purpose | branch << 8") {
  const philox source{{{17, 23}}};
  CHECK(source({5, 6, 7, purpose::bonus_draw, 9}) == philox4x32(5, 6, 7, 3u | (9u << 8), {{17, 23}}));
  CHECK(source({0xFFFFFFFFu, 1, 2, purpose::channel, 0xFFFFFFu}) ==
        philox4x32(0xFFFFFFFFu, 1, 2, 0xFFFFFF08u, {{17, 23}}));
  static_assert(static_cast<int>(purpose::draft_draw) == 0 && static_cast<int>(purpose::acceptance) == 1);
  static_assert(static_cast<int>(purpose::residual_draw) == 2 && static_cast<int>(purpose::bonus_draw) == 3);
  static_assert(static_cast<int>(purpose::perturbation_temperature) == 4 &&
                static_cast<int>(purpose::perturbed_draw) == 5);
  static_assert(static_cast<int>(purpose::coupling_noise) == 6 && static_cast<int>(purpose::policy_exploration) == 7);
  static_assert(static_cast<int>(purpose::channel) == 8 && static_cast<int>(purpose::training) == 9);
  static_assert(static_cast<int>(purpose::skip_coin) == 10 && static_cast<int>(purpose::thinning_proposal) == 11);
  static_assert(static_cast<int>(purpose::thinning_test) == 12 && static_cast<int>(purpose::relabel) == 13);
  static_assert(static_cast<int>(purpose::channel_state_sample) == 14);
}

TEST_CASE("E32 a decision uniform has 53 bits and lies in [0, 1)") {
  static_assert(decision_uniform({{0, 0, 0, 0}}) == 0.0);
  static_assert(decision_uniform({{0, (1u << 11) - 1, 0, 0}}) == 0.0);
  static_assert(decision_uniform({{0, 1u << 11, 0, 0}}) == 0x1p-53);
  static_assert(decision_uniform({{1u << 31, 0, 0, 0}}) == 0.5);
  static_assert(decision_uniform({{~0u, ~0u, 0, 0}}) == 1.0 - 0x1p-53);
  static_assert(decision_uniform({{0, 0, 1u << 30, 0}}, 1) == 0.25);
}

TEST_CASE("multiply_wide is the 128-bit product") {
  const std::array<std::uint64_t, 7> values{
      0, 1, 0xFFFFFFFFull, 0x100000000ull, 0x8000000000000000ull, 0x123456789abcdef1ull, ~0ull};
  for (const std::uint64_t a : values) {
    for (const std::uint64_t b : values) {
      // Schoolbook, one bit of b at a time.
      std::uint64_t high = 0, low = 0;
      for (int bit = 63; bit >= 0; --bit) {
        high = (high << 1) | (low >> 63);
        low <<= 1;
        if ((b >> bit) & 1) {
          low += a;
          high += low < a ? 1 : 0;
        }
      }
      CHECK(multiply_wide(a, b).high == high);
      CHECK(multiply_wide(a, b).low == low);
    }
  }
}

namespace {

// A source that gives one chosen 64-bit number per lane.
struct scripted {
  std::array<std::uint64_t, 4> numbers{};
  constexpr random_block operator()(random_counter counter) const noexcept {
    const std::uint64_t number = numbers[counter.lane % 4];
    return {{static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(number), 0, 0}};
  }
};

// floor(value * 2^64 / bound), rounded up: the smallest number that multiply-high maps to `value` or more.
std::uint64_t first_number_of(std::uint64_t value, std::uint64_t bound) {
  std::uint64_t quotient = 0, remainder = value;  // long division of value * 2^64
  for (int bit = 0; bit < 64; ++bit) {
    remainder <<= 1;
    quotient <<= 1;
    if (remainder >= bound) {
      remainder -= bound;
      quotient |= 1;
    }
  }
  return quotient + (remainder > 0 ? 1 : 0);
}

}  // namespace

TEST_CASE("uniform_integer gives every value exactly floor(2^64 / bound) numbers") {
  // The numbers x that give a value are an interval of length floor(2^64/bound) or one more; rejection must take
  // exactly the surplus. The accepted ones are those with low(x * bound) >= 2^64 mod bound. low climbs by `bound`
  // inside an interval and starts below `bound`, so at most the first number of an interval is rejected: it is enough
  // to look at that one and its neighbours.
  for (const std::uint64_t bound :
       {1ull, 2ull, 3ull, 5ull, 6ull, 7ull, 10ull, 100ull, 65535ull, 65536ull, 16777217ull, 4294967295ull}) {
    // floor(2^64 / bound)
    const std::uint64_t each = bound == 1 ? ~0ull : static_cast<std::uint64_t>((~0ull - (bound - 1)) / bound + 1);
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, bound / 2, bound - 2, bound - 1}) {
      if (value >= bound || bound == 1) continue;
      const std::uint64_t first = first_number_of(value, bound);
      const std::uint64_t next = value + 1 == bound ? 0 : first_number_of(value + 1, bound);  // 0 stands for 2^64
      const std::uint64_t length = next - first;
      const auto gives = [&](std::uint64_t number) {  // the value, or `bound` for a retry
        const scripted source{{number, ~0ull, 0, 0}};
        const scripted other{{number, 0x123456789abcdef1ull, 0, 0}};
        const std::uint64_t a = uniform_integer(source, {}, bound), b = uniform_integer(other, {}, bound);
        return multiply_wide(number, bound).low < (0 - bound) % bound ? bound : (a == b ? a : bound + 1);
      };
      CHECK((length == each || length == each + 1));
      CHECK(gives(first) == (length == each ? value : bound));
      CHECK(gives(first + 1) == value);
      CHECK(gives(next - 1) == value);
      if (value > 0) CHECK(gives(first - 1) == value - 1);
    }
  }
}

TEST_CASE("uniform_integer retries in the next lane") {
  // bound 3: 2^64 mod 3 = 1, so only low == 0 is rejected: the number 0.
  CHECK(uniform_integer(scripted{{0, ~0ull, 0, 0}}, {}, 3) == 2);
  CHECK(uniform_integer(scripted{{0, 0, 0, ~0ull}}, {}, 3) == 2);
  // lanes 1, 2, 3, then 4 = 0 of the script
  CHECK(uniform_integer(scripted{{~0ull, 0, 0, 0}}, {0, 0, 1, purpose::draft_draw, 0}, 3) == 2);
  CHECK(uniform_integer(scripted{{0, ~0ull, 0, 0}}, {}, 1) == 0);
  CHECK(uniform_integer(scripted{}, {}, 3) == 0);  // a source that never passes ends after 64 lanes
}

namespace {

// p-value for the independence of two streams at the same positions of a round: 16 classes each, 10^6 positions.
double independence(const philox& first_source, purpose first, const philox& second_source, purpose second) {
  std::vector<std::uint64_t> table(256, 0);
  for (std::uint32_t position = 0; position < 1000000; ++position) {
    const double a = decision_uniform(first_source({position, 3, 0, first, 0}));
    const double b = decision_uniform(second_source({position, 3, 0, second, 0}));
    ++table[static_cast<std::size_t>(a * 16) * 16 + static_cast<std::size_t>(b * 16)];
  }
  auto result = specverify::chi_square_independence(table, 16, 16);
  REQUIRE(result.ok());
  return result->p_value;
}

}  // namespace

TEST_CASE("T31 draft, acceptance, residual and bonus streams of a round are independent and uniform") {
  const auto keys = derive_session_keys(specverify_test::secret_of(42), 1, 1);
  const philox draft{keys.draft}, verdict{keys.verdict};
  CHECK(independence(draft, purpose::draft_draw, verdict, purpose::acceptance) > 1e-4);
  CHECK(independence(draft, purpose::draft_draw, verdict, purpose::residual_draw) > 1e-4);
  CHECK(independence(verdict, purpose::acceptance, verdict, purpose::residual_draw) > 1e-4);
  CHECK(independence(verdict, purpose::acceptance, verdict, purpose::bonus_draw) > 1e-4);
  // Even under one key the purposes keep the streams apart.
  CHECK(independence(draft, purpose::draft_draw, draft, purpose::acceptance) > 1e-4);
  // The planted fault, one counter used twice, is seen at once.
  CHECK(independence(verdict, purpose::acceptance, verdict, purpose::acceptance) < 1e-9);

  std::vector<std::uint64_t> seen(100, 0);
  for (std::uint32_t i = 0; i < 1000000; ++i)
    ++seen[static_cast<std::size_t>(uniform_integer(draft, {i, 3, 0, purpose::draft_draw, 0}, 100))];
  auto result = specverify::chi_square(seen, std::vector<double>(100, 0.01));
  REQUIRE(result.ok());
  CHECK(result->p_value > 1e-4);
}

TEST_CASE("T31 a stream is independent of itself one position, round or lane later") {
  const philox source{derive_verdict_key(specverify_test::secret_of(42), 1, 1)};
  const auto pair = [&](random_counter step) {
    std::vector<std::uint64_t> table(256, 0);
    for (std::uint32_t i = 0; i < 300000; ++i) {
      const double a = decision_uniform(source({i, 3, 5, purpose::acceptance, 0}));
      const double b =
          decision_uniform(source({i + step.position, 3 + step.round, 5 + step.lane, purpose::acceptance, step.branch}),
                           static_cast<int>(step.use));
      ++table[static_cast<std::size_t>(a * 16) * 16 + static_cast<std::size_t>(b * 16)];
    }
    auto result = specverify::chi_square_independence(table, 16, 16);
    REQUIRE(result.ok());
    return result->p_value;
  };
  CHECK(pair({1, 0, 0, purpose{0}, 0}) > 1e-4);
  CHECK(pair({0, 1, 0, purpose{0}, 0}) > 1e-4);
  CHECK(pair({0, 0, 1, purpose{0}, 0}) > 1e-4);
  CHECK(pair({0, 0, 0, purpose{0}, 1}) > 1e-4);
  CHECK(pair({0, 0, 0, purpose{1}, 0}) > 1e-4);  // the two halves of one block
}
