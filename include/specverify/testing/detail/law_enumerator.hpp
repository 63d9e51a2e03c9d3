// SPDX-License-Identifier: Apache-2.0
//! Implements the search of `enumerate_law`: a depth-first search over the random numbers that the function reads. For
//! each number, bisection finds the values where the behaviour of the function changes. The bisection is repeated with
//! several choices (settings) of the later numbers.
#ifndef SPECVERIFY_TESTING_DETAIL_LAW_ENUMERATOR_HPP
#define SPECVERIFY_TESTING_DETAIL_LAW_ENUMERATOR_HPP

#include <specverify/testing/detail/law_subject.hpp>
#include <specverify/testing/exact_mass.hpp>
#include <specverify/testing/uniform_script.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! The state of one enumeration. Call `enumerate_law` instead of this class. It is a template only because
//! `enumeration_record` and `enumerate_law_options` are defined in enumerate_law.hpp, which includes this header.
template <class Record, class Options>
class law_enumerator {
 public:
  law_enumerator(law_subject& subject, const Options& options) : subject_(subject), options_(options) {
    for (std::uint32_t i = 1; i <= options.grid; ++i) {
      probes_.push_back(uniform_steps / (options.grid + 1) * i);
    }
    for (std::uint32_t j = 1; j <= options.end_probes && j <= 26; ++j) {
      probes_.push_back(uniform_steps >> (2 * j));
      probes_.push_back(uniform_steps - (uniform_steps >> (2 * j)));
    }
    for (const double hint : options.hints) probes_.push_back(static_cast<std::uint64_t>(hint * 0x1.0p53));
    probes_.push_back(0);
    probes_.push_back(uniform_steps - 1);
    std::sort(probes_.begin(), probes_.end());
    probes_.erase(std::unique(probes_.begin(), probes_.end()), probes_.end());
  }

  void run() {
    for (;;) {
      search();
      const std::uint32_t wrong = first_wrong_prediction();
      if (wrong == 0 || !record_.complete) break;
      record_.grid_may_be_too_coarse = record_.searches > options_.refinements;
      if (record_.grid_may_be_too_coarse) break;
      seeds_.push_back(wrong);
    }
  }
  [[nodiscard]] const Record& record() const { return record_; }
  //! Returns the masses of the outcomes, indexed by the outcome's number.
  [[nodiscard]] const std::vector<exact_mass>& masses() const { return masses_; }

 private:
  struct signature {
    std::uint32_t outcome = 0;
    std::uint64_t trace = 0;
    friend bool operator==(const signature& a, const signature& b) {
      return a.outcome == b.outcome && a.trace == b.trace;
    }
  };
  using signatures = std::vector<signature>;
  struct point {
    std::uint64_t at;
    signatures seen;
  };
  using dimension = std::pair<std::array<std::uint32_t, 5>, int>;

  [[nodiscard]] static dimension key_of(random_counter c, int half) {
    return {{c.position, c.round, c.lane, static_cast<std::uint32_t>(c.use), c.branch}, half};
  }

  // A node of the search tree: a leaf (`half` < 0), or a dimension with the breakpoints that separate the children.
  struct tree_node {
    random_counter counter{};
    int half = -1;
    std::vector<std::uint64_t> breakpoints{};
    std::vector<std::size_t> children{};
    signature leaf{};
  };

  static constexpr std::array<script_fill, 5> plain_settings{script_fill::zero, script_fill::near_one,
                                                             script_fill::middle, script_fill::scattered,
                                                             script_fill::scattered_first};
  [[nodiscard]] std::size_t setting_count() const { return plain_settings.size() + seeds_.size(); }

  [[nodiscard]] signature evaluate(std::size_t setting) {
    if (setting < plain_settings.size()) return evaluate(plain_settings[setting], 0);
    return evaluate(script_fill::scattered, seeds_[setting - plain_settings.size()]);
  }
  [[nodiscard]] signature evaluate(script_fill fill, std::uint32_t seed) {
    ++record_.evaluations;
    script_.set_fill(fill, seed);
    script_.forget();
    signature seen{subject_.run(script_), 0x9E3779B97F4A7C15u};
    if (seen.outcome >= masses_.size()) masses_.resize(seen.outcome + 1);
    for (const random_counter& c : script_.reads()) {
      for (const std::uint32_t word : {c.position, c.round, c.lane, static_cast<std::uint32_t>(c.use), c.branch}) {
        seen.trace = (seen.trace ^ word) * 0x100000001B3u;
        seen.trace ^= seen.trace >> 29;
      }
    }
    return seen;
  }
  // Runs the function with the last dimension at `at`, under every setting. A setting that changes none of the numbers
  // read is not run again.
  [[nodiscard]] point evaluate_all(std::uint64_t at) {
    script_.set_last(at);
    point all{at, signatures(setting_count(), evaluate(0))};
    const unsigned filled = script_.filled_halves();
    for (std::size_t i = 1; i < all.seen.size() && filled != 0; ++i) {
      if (filled == 0b10 && i < plain_settings.size() && plain_settings[i] == script_fill::scattered_first) continue;
      all.seen[i] = evaluate(i);
    }
    return all;
  }

  // Returns the first value in (low, high] where the behaviour under one setting differs from the behaviour at `low`.
  // Known breakpoints are tried first, because breakpoints often repeat.
  [[nodiscard]] std::uint64_t bisect(std::uint64_t low, std::uint64_t high, std::size_t setting,
                                     const signature& at_low, std::vector<std::uint64_t>& known) {
    const auto same = [&](std::uint64_t at) {
      script_.set_last(at);
      return evaluate(setting) == at_low;
    };
    for (;;) {
      const auto first = std::upper_bound(known.begin(), known.end(), low);
      const auto last = std::lower_bound(known.begin(), known.end(), high);
      if (first >= last) break;
      const std::uint64_t pivot = *(first + (last - first) / 2);
      (same(pivot) ? low : high) = pivot;
    }
    if (high - low > 1 && same(high - 1)) return high;
    if (high - low > 1) --high;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (same(middle) ? low : high) = middle;
    }
    const auto place = std::lower_bound(known.begin(), known.end(), high);
    if (known.size() < 4096 && (place == known.end() || *place != high)) known.insert(place, high);
    return high;
  }

  // Appends the breakpoints of (low, high] in ascending order.
  void split(const point& low, const point& high, std::vector<std::uint64_t>& known, std::vector<point>& breakpoints) {
    std::size_t setting = 0;
    while (setting < low.seen.size() && low.seen[setting] == high.seen[setting]) ++setting;
    if (setting == low.seen.size() || over_budget()) return;
    const std::uint64_t at = bisect(low.at, high.at, setting, low.seen[setting], known);
    const point before = at - 1 == low.at ? low : evaluate_all(at - 1);
    const point after = at == high.at ? high : evaluate_all(at);
    split(low, before, known, breakpoints);
    breakpoints.push_back(after);
    split(after, high, known, breakpoints);
  }

  [[nodiscard]] bool over_budget() {
    if (record_.evaluations < options_.max_evaluations) return false;
    record_.complete = false;
    return true;
  }

  [[nodiscard]] std::vector<point> find_breakpoints(random_counter counter, int half,
                                                    std::vector<std::uint64_t>& known) {
    std::vector<std::uint64_t> probes = probes_;
    for (const std::uint32_t seed : seeds_) probes.push_back(uniform_script::scatter(counter, half, seed));
    std::sort(probes.begin(), probes.end());
    probes.erase(std::unique(probes.begin(), probes.end()), probes.end());
    std::vector<point> breakpoints;
    const point zero = evaluate_all(probes.front());
    point previous = zero;
    for (std::size_t i = 1; i < probes.size(); ++i) {
      point next = evaluate_all(probes[i]);
      split(previous, next, known, breakpoints);
      previous = std::move(next);
    }
    // `expand` later uses the middle of an interval for the whole interval, so the middle must behave like the
    // interval's first value.
    for (std::size_t i = 0; i <= breakpoints.size(); ++i) {
      const point& left = i == 0 ? zero : breakpoints[i - 1];
      const std::uint64_t end = i < breakpoints.size() ? breakpoints[i].at : uniform_steps;
      if (end - left.at < 3) continue;
      const point middle = evaluate_all(left.at + (end - left.at) / 2);
      if (left.seen == middle.seen) continue;
      const point right = evaluate_all(end - 1);
      std::vector<point> found;
      split(left, middle, known, found);
      split(middle, right, known, found);
      if (found.empty()) break;  // the search may not call the function again, because max_evaluations is reached
      breakpoints.insert(breakpoints.begin() + static_cast<std::ptrdiff_t>(i), found.begin(), found.end());
      --i;  // continue with the first new interval
    }
    return breakpoints;
  }

  void search() {
    ++record_.searches;
    record_.complete = true;
    record_.leaves = 0;
    record_.narrowest = uniform_steps;
    tree_.clear();
    masses_.assign(masses_.size(), exact_mass{});
    (void)expand(exact_mass::one(), 0);
  }

  // Finds the first half of a counter that the function reads and that is not set yet. If there is none, `half` remains
  // negative.
  void find_free_half(tree_node& at) const {
    for (const random_counter& read : script_.reads()) {
      if (!script_.lists(read, 0))
        at.half = 0;
      else if (!script_.lists(read, 1))
        at.half = 1;
      at.counter = read;
      if (at.half >= 0) break;
    }
  }

  std::size_t expand(const exact_mass& mass, std::uint32_t depth) {
    record_.depth = std::max(record_.depth, depth);
    const signature seen = evaluate(script_fill::zero, 0);
    const std::size_t index = tree_.size();
    tree_.emplace_back();
    find_free_half(tree_[index]);
    const bool cut = tree_[index].half >= 0 && (depth >= options_.max_depth || over_budget());
    if (tree_[index].half < 0 || cut) {
      if (cut) record_.complete = false;
      tree_[index].half = -1;
      tree_[index].leaf = seen;
      ++record_.leaves;
      masses_[seen.outcome] += mass;
      return index;
    }
    const random_counter counter = tree_[index].counter;
    const int half = tree_[index].half;
    script_.push(counter, half, 0);
    const std::vector<point> found = find_breakpoints(counter, half, known_[key_of(counter, half)]);
    std::vector<std::uint64_t> breakpoints;
    for (const point& each : found) breakpoints.push_back(each.at);
    tree_[index].breakpoints = breakpoints;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i <= breakpoints.size(); ++i) {
      const std::uint64_t end = i < breakpoints.size() ? breakpoints[i] : uniform_steps;
      record_.narrowest = std::min(record_.narrowest, end - begin);
      script_.set_last(begin + (end - begin) / 2);
      const std::size_t child = expand(mass.scaled(end - begin), depth + 1);
      tree_[index].children.push_back(child);
      begin = end;
    }
    script_.pop();
    return index;
  }

  // Compares the tree's predictions with the function's results at random points. Returns the seed of the first wrong
  // prediction; 0 if all are right.
  [[nodiscard]] std::uint32_t first_wrong_prediction() {
    for (std::uint32_t i = 0; i < options_.checks && record_.complete; ++i) {
      const std::uint32_t seed = next_seed_++;
      const signature seen = evaluate(script_fill::scattered, seed);
      std::size_t at = 0;
      while (tree_[at].half >= 0) {
        const tree_node& node = tree_[at];
        const std::uint64_t value = uniform_script::scatter(node.counter, node.half, seed);
        at = node.children[static_cast<std::size_t>(
            std::upper_bound(node.breakpoints.begin(), node.breakpoints.end(), value) - node.breakpoints.begin())];
      }
      if (!(tree_[at].leaf == seen)) return seed;
    }
    return 0;
  }

  law_subject& subject_;
  Options options_;
  std::vector<std::uint64_t> probes_{};
  std::vector<std::uint32_t> seeds_{};
  std::uint32_t next_seed_ = 1;
  std::vector<tree_node> tree_{};
  uniform_script script_{};
  std::map<dimension, std::vector<std::uint64_t>> known_{};
  std::vector<exact_mass> masses_{};
  Record record_{};
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
