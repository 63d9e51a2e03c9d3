// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/message.hpp>
#include <specverify/policy/window.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

using namespace specverify;

namespace {

struct anchor {
  std::uint32_t support_size;
  double top_k_bits;
  std::uint32_t top_k_length;
  double threshold_bits;
  std::uint32_t threshold_length;
};
//! V = 50257, l = 100, B = 5000 (arXiv 2510.09942).
constexpr std::array<anchor, 13> table{{{1, 15.62, 320, 32.00, 156},
                                        {2, 36.89, 135, 53.66, 93},
                                        {4, 75.32, 66, 91.43, 54},
                                        {8, 144.24, 34, 160.60, 31},
                                        {16, 266.67, 18, 283.06, 17},
                                        {32, 481.87, 10, 498.80, 10},
                                        {64, 856.36, 5, 872.92, 5},
                                        {100, 1231.65, 4, 1247.85, 4},
                                        {128, 1503.03, 3, 1519.45, 3},
                                        {256, 2613.12, 1, 2630.09, 1},
                                        {512, 4505.35, 1, 4521.36, 1},
                                        {1024, 7689.69, 0, 7705.99, 0},
                                        {50257, 1037.08, 4, 1053.08, 4}}};

//! A law over `support_size` ids that a window may be shown.
struct shown_law {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
  law view;
  shown_law(std::uint32_t vocab_size, std::uint32_t support_size, std::uint32_t resolution)
      : ids(support_size), counts(support_size, 0) {
    std::iota(ids.begin(), ids.end(), 0);
    counts[0] = resolution;
    view = {ids.data(), counts.data(), support_size, 0, resolution, vocab_size};
  }
};

//! Positions that the window sends when every law has this support.
std::uint32_t length_of(const bit_budget_window& window, const law& next) {
  std::uint64_t charged = 0;
  std::uint32_t length = 0;
  const std::uint32_t planned = window.begin({}).max_draft_length;
  while (length < planned && window.proceed(length, next, charged)) {
    charged += window.charge(next);
    ++length;
  }
  return length;
}

}  // namespace

TEST_CASE("fixed_window: the plan never changes and every position is drafted") {
  constexpr fixed_window window{7, 240};
  observation seen;
  for (std::uint32_t round = 0; round < 20; ++round) {
    CHECK(window.begin(seen) == draft_plan{7, 240});
    CHECK(window.proceed(seen.position, law{}, 1000000));
    record_round(seen, 7, round % 8, round % 8 + 1, 100);
  }
}

TEST_CASE("T12 bit_budget_window: the windows of SQS, and L = 1 where its rule would stop for ever (E9)") {
  for (const anchor& row : table) {
    CAPTURE(row.support_size);
    const shown_law next(50257, row.support_size, 100);
    CHECK(std::fabs(position_bits(position_accounting::top_k, 50257, row.support_size, 100) - row.top_k_bits) <=
          0.0051);
    CHECK(std::fabs(position_bits(position_accounting::threshold, 50257, row.support_size, 100) - row.threshold_bits) <=
          0.0051);
    bit_budget_window window{1000, 100, row.support_size, 50257, 5000, 0, position_accounting::top_k};
    const std::uint32_t top_k_length = length_of(window, next.view);
    CHECK(top_k_length == std::max(row.top_k_length, 1u));
    CHECK(window.clamp().clamped == (row.top_k_length == 0));
    window.accounting = position_accounting::threshold;
    const std::uint32_t threshold_length = length_of(window, next.view);
    CHECK(threshold_length == std::max(row.threshold_length, 1u));
  }
}

TEST_CASE("E9 budget clamp: the largest top-K' that fits, dense only where it is allowed") {
  for (std::uint32_t support_size = 1; support_size <= 50257; support_size += support_size < 700 ? 1 : 997) {
    const budget_clamp top_k = clamp_support(position_accounting::top_k, 50257, support_size, 100, 5000);
    const budget_clamp threshold = clamp_support(position_accounting::threshold, 50257, support_size, 100, 5000);
    CAPTURE(support_size);
    const bool stuck = support_size >= 583 && support_size <= 49770;
    CHECK(threshold.clamped == stuck);
    CHECK(threshold.support_size == (stuck ? 582 : support_size));
    if (support_size < 586 || stuck) CHECK(top_k.support_size == std::min(support_size, 585u));
    CHECK_FALSE(top_k.dense);
  }
  for (const std::uint32_t last : {49770u, 49771u})
    CHECK(clamp_support(position_accounting::threshold, 50257, last, 100, 5000).clamped == (last == 49770));
  for (const std::uint32_t last : {49768u, 49769u})
    CHECK(clamp_support(position_accounting::top_k, 50257, last, 100, 5000).clamped == (last == 49768));
  const budget_clamp dense =
      clamp_support(position_accounting::threshold, 50257, 2000, 100, 5000, {.allow_dense = true});
  CHECK(dense.dense);
  CHECK(dense.clamped);
  CHECK(dense.support_size == 50257);
  CHECK_FALSE(clamp_support(position_accounting::threshold, 50257, 2000, 100, 1000, {.allow_dense = true}).dense);
  CHECK(clamp_support(position_accounting::threshold, 50257, 2000, 100, 32).support_size == 1);
  CHECK(clamp_support(position_accounting::threshold, 50257, 2000, 100, 5).support_size == 1);
  CHECK(clamp_support(position_accounting::threshold, 50257, 0, 100, 5).support_size == 1);
}

TEST_CASE(
    "E9 bit_budget_window: a law whose size the sparsifier chose is cut where that size, and not a smaller one, costs "
    "more "
    "than a round has") {
  bit_budget_window window{8, 100, 1, 50257, 5000, 0, position_accounting::threshold};  // K says nothing
  for (const std::uint32_t size : {1u, 582u, 583u, 20000u, 49770u, 49771u, 50257u}) {
    CAPTURE(size);
    const bool stuck = size >= 583 && size <= 49770;
    CHECK(window.clamp(size).clamped == stuck);
    CHECK(window.clamp(size).support_size == (stuck ? 582 : size));
    window.allow_dense = true;
    CHECK_FALSE(window.clamp(size).dense);
    window.allow_dense = false;
    window.accounting = position_accounting::drop_zero;
    CHECK_FALSE(window.clamp(size).clamped);  // 100 counts fit, whatever they are
    window.accounting = position_accounting::dense;
    CHECK(window.clamp(size).support_size == size);
    window.accounting = position_accounting::threshold;
  }
  window.overhead = 4000;
  const std::uint32_t fewer = window.clamp(20000).support_size;
  CHECK(position_bits(position_accounting::threshold, 50257, fewer, 100) <= 1000);
  CHECK(position_bits(position_accounting::threshold, 50257, fewer + 1, 100) > 1000);
  window = {8, 100, 1024, 50257, 5000, 0, position_accounting::top_k};  // charges 585 whatever the law has
  CHECK(window.clamp(584).support_size == 584);
  CHECK(window.clamp(600).support_size == 585);
  CHECK(window.clamp(600).clamped);
}

TEST_CASE("bit_budget_window: a support of unknown size is cut where some law of it would not fit") {
  const bit_budget_window window{8, 100, 50257, 50257, 5000, 0, position_accounting::threshold};
  CHECK(window.begin({}).support_size == 582);  // all V would fit, 583 would not
  bit_budget_window dense = window;
  dense.allow_dense = true;
  CHECK(dense.begin({}).support_size == 50257);
  // The dearest number of tokens, found by looking at all of them.
  for (const auto accounting : {position_accounting::threshold, position_accounting::drop_zero}) {
    for (const std::uint32_t resolution : {1u, 7u, 100u, 300u}) {
      for (const std::uint32_t vocab_size : {5u, 60u, 400u}) {
        double dearest = 0;
        for (std::uint32_t size = 1; size <= vocab_size; ++size) {
          dearest = std::max(dearest, position_bits(accounting, vocab_size, size, resolution));
          CHECK(position_bits(accounting, vocab_size, size, resolution, true) >= dearest - 1e-9);
        }
      }
    }
  }
}

TEST_CASE("bit_budget_window: QS accounting is 2209 bits a position, and overhead leaves the budget") {
  const shown_law next(50272, 12, 240);
  bit_budget_window window{12, 240, 50272, 50272, 4 * 2209, 0, position_accounting::dense};
  CHECK(window.charge(next.view) == 2209 * bit_budget_window::charge_scale);
  CHECK(length_of(window, next.view) == 4);
  window.overhead = 1;
  CHECK(length_of(window, next.view) == 3);
  window.overhead = 1u << 30;
  CHECK(length_of(window, next.view) == 1);
}

TEST_CASE("bit_budget_window: what travels stays within the budget, whatever tokens are drawn") {
  std::mt19937 random(5);
  const philox source{{{3, 4}}};
  for (std::uint32_t trial = 0; trial < 300; ++trial) {
    const std::uint32_t vocab_size = trial % 2 == 0 ? 50257 : 4096, resolution = trial % 3 == 0 ? 24 : 100;
    const bit_budget_window window{
        40, resolution, 64, vocab_size, 500 + 40 * trial, 80, position_accounting::drop_zero};
    wire_format format;
    format.vocab_size = vocab_size;
    format.resolution = resolution;
    format.max_draft_length = 40;
    std::vector<shown_law> laws;
    std::vector<draft> drafts;
    laws.reserve(40);
    window_progress so_far;
    const draft_plan plan = window.begin({});
    REQUIRE(plan.support_size >= 1);
    while (so_far.drafted < plan.max_draft_length) {
      const std::uint32_t positive = 1 + static_cast<std::uint32_t>(random()) % std::min(plan.support_size, resolution);
      shown_law& next = laws.emplace_back(vocab_size, positive, resolution);
      token_id id = -1;
      for (std::uint32_t i = 0; i < positive; ++i) {
        id += static_cast<token_id>(1 + static_cast<std::uint32_t>(random()) % (vocab_size / 64));
        next.ids[i] = id;
        next.counts[i] = 1;
      }
      next.counts[0] += resolution - positive;
      const std::optional<draft> drawn =
          draw_within(window, so_far, next.view, uniforms{source, so_far.drafted, trial}.at(purpose::draft_draw));
      if (!drawn) break;
      drafts.push_back(*drawn);
    }
    const auto bytes = draft_bytes(format, std::span<const draft>(drafts), {});
    REQUIRE(bytes.ok());
    REQUIRE(!drafts.empty());
    CAPTURE(trial);
    CAPTURE(drafts.size());
    CHECK(8 * *bytes <= window.budget);
  }
}

TEST_CASE("NUM-1 bit_budget_window: an option outside its range is named before the first round") {
  const auto said = [](const bit_budget_window& window) { return check(window); };
  CHECK(said({8, 100, 16, 50257}).ok());
  CHECK(said({8, 0, 16, 50257}) == status{errc::invalid_resolution, part::policy, 1});
  CHECK(said({8, 100, 0, 50257}) == status{errc::invalid_argument, part::policy, 2});
  CHECK(said({8, 100, 16}) == status{errc::empty_vocabulary, part::policy, 3});  // else K = 1, silently
  CHECK(said({8, 100, 16, max_vocab_size + 1}) == status{errc::vocabulary_too_large, part::policy, 3});
  CHECK(said({8, 100, 16, 50257, 0}) == status{errc::invalid_argument, part::policy, 4});
  CHECK(said({8, 100, 16, 50257, (std::uint64_t{1} << 48) + 1}) == status{errc::invalid_argument, part::policy, 4});
  CHECK(said({8, 100, 16, 50257, 80, 80}) == status{errc::invalid_argument, part::policy, 5});
  CHECK(said({8, 100, 16, 50257, 81, 80}).ok());
  CHECK(said({8, 100, 16, 50257, 5000, 0, static_cast<position_accounting>(4)}) ==
        status{errc::invalid_argument, part::policy, 6});
}
