// SPDX-License-Identifier: Apache-2.0
//! Measures the exact distribution of the outcomes of any function that takes a source of uniform random numbers.
//!
//! The function runs on a scripted source. For each random number that it reads, bisection to the last bit finds the
//! intervals in which the function has the same outcome and reads the same numbers. Later numbers take several
//! settings, because some breakpoints appear only if a later number is small. The widths of the intervals are summed
//! exactly.
//! Paper:      none. A test measures the library's own function, so it needs no formula for the acceptance.
//! Symbols:    dimension = one half (two 32-bit words) of one counter, which is one random number.
//! Guarantees: the masses sum to exactly 1 if `complete`. A behaviour between two probes of the grid can be missed, so
//!             the result is compared with the function at `checks` random points. If they still differ after
//!             `refinements` finer searches, `grid_may_be_too_coarse` is set. O(leaves * grid * settings) calls.
//!             Allocates; one thread.
//! Deviates:   integer draws with bounds below 2^10 never retry, because the low 11 of the 64 bits of a half are
//!             constant.
//! See:        docs/algorithms/enumerate_law.md, tests/unit/testing/enumerate_law_test.cpp
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
  std::uint32_t grid = 4;  //!< probes inside [0, 1) per dimension, in addition to both ends
  //! additional probes at 4^-j and 1 - 4^-j for j = 1, ..., end_probes (at most 26): for distributions with heavy tails
  std::uint32_t end_probes = 0;
  std::uint32_t checks = 2000;    //!< number of random points to test the result
  std::uint32_t refinements = 4;  //!< maximum number of additional searches after failed checks
  //! maximum number of calls of the function; if this is not enough, the result is not `complete`
  std::uint64_t max_evaluations = std::uint64_t{1} << 33;
  //! maximum number of dimensions on one path; if they are not enough, the result is not `complete`
  std::uint32_t max_depth = 256;
  std::span<const double> hints{};  //!< additional probes in [0, 1), for every dimension
};

template <class Outcome>
struct enumerated_outcome {
  Outcome outcome{};
  exact_mass mass{};       //!< exact
  double probability = 0;  //!< `mass`, rounded to a double
};

//! Record of an enumeration.
struct enumeration_record {
  bool complete = false;
  bool grid_may_be_too_coarse = false;  //!< some prediction was still wrong after the last search
  std::uint32_t searches = 0;           //!< 1, plus the number of refinements
  //! number of leaves of the search tree, that is, of combinations of intervals
  std::uint64_t leaves = 0;
  std::uint64_t evaluations = 0;            //!< calls of the function
  std::uint32_t depth = 0;                  //!< maximum number of dimensions on one path
  std::uint64_t narrowest = uniform_steps;  //!< width of the narrowest interval, in units of 2^-53
};

template <class Outcome>
struct enumerated_law : enumeration_record {
  std::vector<enumerated_outcome<Outcome>> outcomes{};  //!< in ascending order of outcomes
  exact_mass total{};                                   //!< exactly 1 if complete

  //! Returns the probability of an outcome; 0 if it never occurred.
  [[nodiscard]] double probability(const Outcome& of) const {
    for (const auto& entry : outcomes) {
      if (!(entry.outcome < of) && !(of < entry.outcome)) return entry.probability;
    }
    return 0;
  }

  //! Returns the distribution of `map(outcome)`.
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

  //! Returns the expectation of `value(outcome)`.
  template <class Value>
  [[nodiscard]] double expectation(Value value) const {
    double sum = 0;
    for (const auto& entry : outcomes) sum += entry.probability * static_cast<double>(value(entry.outcome));
    return sum;
  }
};

//! Returns the distribution of `function(source)` over uniform sources. Except for the random numbers, `function` must
//! be pure. The result must have operator<, for example a token, a vector of tokens or a tuple. The head of this file
//! describes the cases that the search can miss.
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

//! Returns the total variation distance between a measured distribution over ids and the probabilities `expected`. Ids
//! outside `expected` have the expected probability 0.
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
