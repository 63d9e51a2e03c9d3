// SPDX-License-Identifier: Apache-2.0
#include <specverify/decision_head/relabel.hpp>

#include <specverify/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "head_kit.hpp"

namespace sv = specverify;
using bytes = std::vector<std::uint8_t>;

namespace {

struct episode {
  std::vector<std::uint32_t> positions{};
  bytes important{};
  std::vector<double> scores{};
};

episode make(std::uint32_t seed, const sv::relabel_options& options = {}) {
  head_kit::generator draw(seed);
  episode made;
  std::uint32_t position = 0;
  const std::uint32_t size = 1 + draw.below(30);
  for (std::uint32_t j = 0; j < size; ++j) {
    position += 1 + draw.below(6);
    made.positions.push_back(position);
    made.important.push_back(draw.below(3) == 0 ? 1 : 0);
  }
  made.scores.resize(size);
  REQUIRE(sv::smooth(made.positions, made.important, options, made.scores).ok());
  return made;
}

bytes relabelled(const episode& in, double quality, const sv::relabel_options& options = {}, std::uint32_t number = 0) {
  bytes labels(in.positions.size());
  REQUIRE(sv::relabel({in.positions, in.important, in.scores, number}, quality, sv::philox{{{7, 9}}}, options, labels)
              .ok());
  return labels;
}

std::uint32_t sum(const bytes& labels) { return std::accumulate(labels.begin(), labels.end(), 0u); }

}  // namespace

TEST_CASE("relabel: E30 by hand: quality, budget and smoothed scores") {
  CHECK(sv::link_quality(500e6, 0) == doctest::Approx(1));
  CHECK(sv::link_quality(1e9, 0) == 1);
  CHECK(sv::link_quality(10e6, 0) == 0);
  CHECK(sv::link_quality(1e6, 0) == 0);
  CHECK(sv::link_quality(20e6, 1e-3) == doctest::Approx(0.999 * std::log(2.0) / std::log(50.0)));
  CHECK(sv::label_budget(10, 0) == doctest::Approx(7));
  CHECK(sv::label_budget(10, 0.5) == doctest::Approx(8.5));
  CHECK(sv::hard_label_budget(10, 0.5) == 9);
  CHECK(sv::hard_label_budget(10, 0) == 7);
  CHECK(sv::hard_label_budget(10, 1) == 10);
  const std::vector<std::uint32_t> positions{0, 4, 12};
  const bytes important{1, 0, 1};
  std::array<double, 3> scores{};
  REQUIRE(sv::smooth(positions, important, {}, scores).ok());
  const double e1 = std::exp(-1.0), e2 = std::exp(-2.0), e3 = std::exp(-3.0);
  CHECK(scores[0] == doctest::Approx(1));
  CHECK(scores[1] == doctest::Approx((e1 + e2) / (1 + e3)));
  CHECK(scores[2] == doctest::Approx(1));
}

TEST_CASE("relabel: E30 the maximum form gives every important mismatch score 1, and a price all or nothing") {
  sv::relabel_options options;
  options.form = sv::smoothing::maximum;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const episode in = make(seed, options);
    for (std::size_t j = 0; j < in.scores.size(); ++j) {
      CHECK(in.scores[j] <= 1);
      if (in.important[j] != 0) CHECK(in.scores[j] == 1);
    }
    bytes labels(in.scores.size());
    for (const double price : {-0.5, 0.3, 0.999, 1.0}) {
      REQUIRE(sv::label_by_price(in.scores, in.important, price, labels).ok());
      CHECK(sum(labels) == (price < 1 ? sum(in.important) : 0));
    }
  }
}

TEST_CASE("relabel: T25 never a label where nothing is important") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const episode in = make(seed);
    const bytes labels = relabelled(in, 0.01 * (seed % 101), {}, seed);
    for (std::size_t j = 0; j < labels.size(); ++j) CHECK(labels[j] <= in.important[j]);
    bytes hard(labels.size()), priced(labels.size());
    REQUIRE(sv::label_by_budget(in.scores, in.important, 5, hard).ok());
    REQUIRE(sv::label_by_price(in.scores, in.important, 0.4, priced).ok());
    for (std::size_t j = 0; j < labels.size(); ++j) {
      CHECK(hard[j] <= in.important[j]);
      CHECK(priced[j] <= in.important[j]);
    }
  }
}

TEST_CASE("relabel: T25 a perfect link keeps the base labels") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const episode in = make(seed);
    CHECK(relabelled(in, 1.0, {}, seed) == in.important);
  }
}

TEST_CASE("relabel: T25 no label rises as the link gets worse, and the rate follows the budget") {
  std::array<double, 11> taken{};
  double all = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const episode in = make(seed);
    bytes better = in.important;
    for (int step = 10; step >= 0; --step) {
      const bytes labels = relabelled(in, 0.1 * step, {}, seed);
      for (std::size_t j = 0; j < labels.size(); ++j) CHECK(labels[j] <= better[j]);
      better = labels;
      taken[static_cast<std::size_t>(step)] += sum(labels);
    }
    all += sum(in.important);
  }
  for (std::size_t step = 0; step <= 10; ++step) {
    CAPTURE(step);
    CHECK(taken[step] / all == doctest::Approx(0.7 + 0.03 * static_cast<double>(step)).epsilon(0.02));
    if (step > 0) CHECK(taken[step] > taken[step - 1]);
  }
}

TEST_CASE("relabel: T25 the hard budget is the best sum of scores, and the price of that budget takes the same set") {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    head_kit::generator draw(seed + 9000);
    const std::uint32_t size = 1 + draw.below(9);
    std::vector<double> scores(size);
    bytes important(size);
    for (std::size_t j = 0; j < size; ++j) {
      scores[j] = draw.uniform();  // distinct
      important[j] = draw.below(4) == 0 ? 0 : 1;
    }
    const std::uint32_t budget = draw.below(size + 1);
    bytes hard(size), priced(size);
    REQUIRE(sv::label_by_budget(scores, important, budget, hard).ok());
    double best = 0;  // (29) by trying every set
    for (std::uint32_t set = 0; set < (1u << size); ++set) {
      double value = 0;
      std::uint32_t count = 0;
      bool allowed = true;
      for (std::uint32_t j = 0; j < size; ++j) {
        if ((set >> j & 1) == 0) continue;
        value += scores[j];
        ++count;
        allowed = allowed && important[j] != 0;
      }
      if (allowed && count <= budget) best = std::max(best, value);
    }
    double value = 0;
    for (std::size_t j = 0; j < size; ++j) value += hard[j] * scores[j];
    CHECK(value == doctest::Approx(best).epsilon(1e-12));
    CHECK(sum(hard) <= budget);
    REQUIRE(sv::label_by_price(scores, important, sv::price_of_budget(scores, important, budget), priced).ok());
    CHECK(priced == hard);
    compared += budget > 0 && budget < size ? 1 : 0;
  }
  CHECK(compared > 100);
}

TEST_CASE("relabel: the soft price is the root, falls with the budget, and has none at all labels") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const episode in = make(seed);
    const std::uint32_t all = sum(in.important);
    if (all == 0) continue;
    double last = 1e9;
    for (double share = 0.1; share < 0.95; share += 0.2) {
      const double budget = share * all;
      const double price = sv::soft_price_of_budget(in.scores, in.important, budget);
      double expected = 0;
      for (std::size_t j = 0; j < in.scores.size(); ++j) {
        if (in.important[j] != 0) expected += 1 / (1 + std::exp(-(in.scores[j] - price) / 0.1));
      }
      CHECK(expected == doctest::Approx(budget).epsilon(1e-9));
      CHECK(price < last);
      last = price;
    }
    CHECK(std::bit_cast<std::uint64_t>(sv::soft_price_of_budget(in.scores, in.important, all)) == 0xFFF0000000000000u);
    CHECK(std::bit_cast<std::uint64_t>(sv::soft_price_of_budget(in.scores, in.important, 0)) == 0x7FF0000000000000u);
  }
}

TEST_CASE("relabel: a worst link may keep nothing") {
  sv::relabel_options options;
  options.minimum_share = 0;
  const episode in = make(4, options);
  CHECK(sum(relabelled(in, 0, options)) == 0);
}

TEST_CASE("relabel: bad input has a name") {
  const std::vector<std::uint32_t> positions{1, 2};
  const bytes important{1, 0};
  std::vector<double> scores(2);
  bytes labels(2);
  const auto code = [&](sv::relabel_options options) {
    return sv::smooth(positions, important, options, scores).error();
  };
  sv::relabel_options bad;
  bad.decay_length = 0;
  CHECK(code(bad) == sv::status{sv::errc::invalid_argument, sv::part::decision_head, 0});
  bad = {};
  bad.softness = -1;
  CHECK(code(bad) == sv::status{sv::errc::invalid_argument, sv::part::decision_head, 1});
  bad = {};
  bad.minimum_share = 1.1;
  CHECK(code(bad) == sv::status{sv::errc::invalid_argument, sv::part::decision_head, 2});
  bad = {};
  bad.minimum_rate = 0;
  CHECK(code(bad) == sv::status{sv::errc::invalid_argument, sv::part::decision_head, 3});
  bad = {};
  bad.maximum_rate = 1;
  CHECK(code(bad) == sv::status{sv::errc::invalid_argument, sv::part::decision_head, 4});
  CHECK(sv::smooth(positions, std::span(important).first(1), {}, scores).error().where == 1);
  CHECK(sv::smooth(positions, important, {}, std::span(scores).first(1)).error().where == 2);
  const sv::relabel_episode episode{positions, important, scores};
  CHECK(sv::relabel(episode, 1.5, sv::philox{}, {}, labels).error().code == sv::errc::invalid_argument);
  CHECK(sv::relabel(episode, 0.5, sv::philox{}, {}, std::span(labels).first(1)).error() ==
        sv::status{sv::errc::size_mismatch, sv::part::decision_head, 3});
  CHECK(sv::label_by_budget(scores, important, 1, std::span(labels).first(1)).error().where == 2);
}
