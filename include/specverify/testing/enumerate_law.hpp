// SPDX-License-Identifier: Apache-2.0
//! Measures the exact law of the outcome of any entry point that takes a uniform source.
//!
//! The entry point runs on a scripted source. Each number that it reads is split into the intervals on which it behaves
//! alike: the numbers read so far are fixed, the next one is bisected to its last bit on (outcome, counters read), and
//! later numbers are tried at several settings (all 0, all near 1, middle, scattered), so that a breakpoint which
//! shows only when a later number is small is found too. Widths are multiples of 2^-53 and are summed without rounding.
//! Paper:      none; a law test measures the shipped entry point and holds no acceptance formula of its own.
//! Symbols:    k = a decision uniform times 2^53; dimension = one half (two words) of one counter.
//! Guarantees: the masses sum to exactly 1 when `complete`. A behaviour that returns between two probes of the grid to
//!             what it was, or that no setting shows, can be missed. Therefore the result predicts the outcome at
//!             `checks` random points; a wrong prediction makes its point a further probe and setting of a new search,
//!             and one that is left after `refinements` searches sets `grid_may_be_too_coarse`. O(leaves * grid *
//!             settings) calls. Allocates (test kit); one thread.
//! Deviates:   the low 11 of 64 bits stand still, so integer draws over bounds below 2^10 never retry.
//! See:        docs/algorithms/enumerate_law.md, tests/unit/testing/enumerate_law_test.cpp,
//!             examples/docs/enumerate_law.cpp
#ifndef SPECVERIFY_TESTING_ENUMERATE_LAW_HPP
#define SPECVERIFY_TESTING_ENUMERATE_LAW_HPP

#include <specverify/testing/detail/law_enumerator.hpp>
#include <specverify/testing/exact_mass.hpp>
#include <specverify/testing/uniform_script.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN

struct enumerate_law_options {
  std::uint32_t grid = 4;  //!< probes inside [0, 1) per dimension, besides both ends
  //! further probes at 4^-j and 1 - 4^-j, j = 1.. (<= 26): for laws with heavy tails
  std::uint32_t end_probes = 0;
  std::uint32_t checks = 2000;    //!< random points at which the result is tested
  std::uint32_t refinements = 4;  //!< searches after a failed check, before giving up
  //! calls of the entry point; past it the law is not `complete`
  std::uint64_t max_evaluations = std::uint64_t{1} << 33;
  //! dimensions read on one path; past it the law is not `complete`
  std::uint32_t max_depth = 256;
  std::span<const double> hints{};  //!< further probes in [0, 1), for every dimension
};

template <class Outcome>
struct enumerated_outcome {
  Outcome outcome{};
  exact_mass mass{};       //!< exact
  double probability = 0;  //!< mass, rounded
};

//! How an enumeration went.
struct enumeration_record {
  bool complete = false;
  bool grid_may_be_too_coarse = false;      //!< the last search still predicted a random point wrongly
  std::uint32_t searches = 0;               //!< 1, and one more for each refinement
  std::uint64_t leaves = 0;                 //!< combinations of intervals
  std::uint64_t evaluations = 0;            //!< calls of the entry point
  std::uint32_t depth = 0;                  //!< most dimensions on one path
  std::uint64_t narrowest = uniform_steps;  //!< width of the narrowest interval, in units of 2^-53
};

template <class Outcome>
struct enumerated_law : enumeration_record {
  std::vector<enumerated_outcome<Outcome>> outcomes{};  //!< ascending
  exact_mass total{};                                   //!< exactly 1 when complete

  //! The probability of an outcome, 0 when it never occurred.
  [[nodiscard]] double probability(const Outcome& of) const {
    for (const auto& entry : outcomes) {
      if (!(entry.outcome < of) && !(of < entry.outcome)) return entry.probability;
    }
    return 0;
  }

  //! The law of `map(outcome)`.
  template <class Map>
  [[nodiscard]] auto marginal(Map map) const {
    using image = std::decay_t<std::invoke_result_t<Map, const Outcome&>>;
    std::map<image, exact_mass> sums;
    for (const auto& entry : outcomes) sums[map(entry.outcome)] += entry.mass;
    enumerated_law<image> law;
    law.total = total;
    law.complete = complete;
    law.grid_may_be_too_coarse = grid_may_be_too_coarse;
    for (auto& [key, mass] : sums) law.outcomes.push_back({key, mass, mass.value()});
    return law;
  }

  //! The expectation of `value(outcome)`.
  template <class Value>
  [[nodiscard]] double expectation(Value value) const {
    double sum = 0;
    for (const auto& entry : outcomes) sum += entry.probability * static_cast<double>(value(entry.outcome));
    return sum;
  }
};

//! The law of `function(source)` over uniform sources. `function` must be pure but for the numbers it reads; its result
//! is a value with operator< (a token, a vector of tokens, a tuple). See the header for what can be missed and how that
//! is reported.
template <class Function>
[[nodiscard]] auto enumerate_law(Function&& function, enumerate_law_options options = {}) {
  using outcome = std::decay_t<std::invoke_result_t<Function&, const scripted_source&>>;
  numbered_outcomes<std::remove_reference_t<Function>, outcome> subject(function);
  law_enumerator<enumeration_record, enumerate_law_options> search(subject, options);
  search.run();
  enumerated_law<outcome> law{search.record(), {}, {}};
  for (const auto& [value, number] : subject.numbers()) {
    const exact_mass& mass = search.masses()[number];
    if (mass == exact_mass{}) continue;
    law.outcomes.push_back({value, mass, mass.value()});
    law.total += mass;
  }
  law.complete = law.complete && law.total == exact_mass::one();
  return law;
}

//! Half the sum of absolute differences between a law over ids and a span of probabilities; outcomes outside the span
//! count whole.
template <class Outcome>
[[nodiscard]] double total_variation(const enumerated_law<Outcome>& measured, std::span<const double> expected) {
  static_assert(std::is_integral_v<Outcome>, "for laws over token ids; take a marginal first");
  double sum = 0;
  std::vector<char> seen(expected.size(), 0);
  for (const auto& entry : measured.outcomes) {
    const auto at = static_cast<std::uint64_t>(entry.outcome);
    if (at < expected.size()) {
      seen[static_cast<std::size_t>(at)] = 1;
      const double gap = entry.probability - expected[static_cast<std::size_t>(at)];
      sum += gap < 0 ? -gap : gap;
    } else {
      sum += entry.probability;
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (seen[i] == 0) sum += expected[i] < 0 ? -expected[i] : expected[i];
  }
  return sum / 2;
}

SPECVERIFY_NAMESPACE_END

#endif
