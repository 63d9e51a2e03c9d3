// SPDX-License-Identifier: Apache-2.0
//! The search behind enumerate_law: depth first over the numbers read, bisection of each under several settings of the later ones.
#ifndef SPECVERIFY_TESTING_DETAIL_LAW_ENUMERATOR_HPP
#define SPECVERIFY_TESTING_DETAIL_LAW_ENUMERATOR_HPP

#include <specverify/testing/detail/exact_mass.hpp>
#include <specverify/testing/detail/uniform_script.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN

template <class Outcome>
struct enumerated_law;

//! The state of one enumeration; use `enumerate_law`.
template <class Function, class Outcome, class Options>
class law_enumerator {
 public:
  law_enumerator(Function& function, const Options& options) : function_(function), options_(options) {
    for (std::uint32_t i = 1; i <= options.grid; ++i) {
      probes_.push_back(uniform_steps / (options.grid + 1) * i);
    }
    for (const double hint : options.hints) probes_.push_back(static_cast<std::uint64_t>(hint * 0x1.0p53));
    probes_.push_back(0);
    probes_.push_back(uniform_steps - 1);
    std::sort(probes_.begin(), probes_.end());
    probes_.erase(std::unique(probes_.begin(), probes_.end()), probes_.end());
  }

  [[nodiscard]] enumerated_law<Outcome> run() {
    law_.complete = true;
    expand(exact_mass::one(), 0);
    for (auto& [outcome, index] : index_of_) {
      if (masses_[index] == exact_mass{}) continue;
      law_.outcomes.push_back({outcome, masses_[index], masses_[index].value()});
      law_.total += masses_[index];
    }
    if (!(law_.total == exact_mass::one())) law_.complete = false;
    return std::move(law_);
  }

 private:
  struct signature {
    std::uint32_t outcome = 0;
    std::uint64_t trace = 0;
    friend bool operator==(const signature& a, const signature& b) { return a.outcome == b.outcome && a.trace == b.trace; }
  };
  using signatures = std::array<signature, script_fill_count>;
  struct point {
    std::uint64_t at;
    signatures seen;
  };
  using dimension = std::pair<std::array<std::uint32_t, 5>, int>;

  [[nodiscard]] static dimension key_of(random_counter c, int half) {
    return {{c.position, c.round, c.lane, static_cast<std::uint32_t>(c.use), c.branch}, half};
  }

  [[nodiscard]] signature evaluate(script_fill fill) {
    ++law_.evaluations;
    script_.set_fill(fill);
    script_.forget();
    const Outcome outcome = function_(scripted_source(script_));
    const auto known = index_of_.try_emplace(outcome, static_cast<std::uint32_t>(index_of_.size()));
    if (known.second) masses_.emplace_back();
    signature seen{known.first->second, 0x9E3779B97F4A7C15u};
    for (const random_counter& c : script_.reads()) {
      for (const std::uint32_t word : {c.position, c.round, c.lane, static_cast<std::uint32_t>(c.use), c.branch}) {
        seen.trace = (seen.trace ^ word) * 0x100000001B3u;
        seen.trace ^= seen.trace >> 29;
      }
    }
    return seen;
  }
  [[nodiscard]] signatures evaluate_all(std::uint64_t at) {
    script_.set_last(at);
    signatures all;
    for (int i = 0; i < script_fill_count; ++i) all[static_cast<std::size_t>(i)] = evaluate(static_cast<script_fill>(i));
    return all;
  }

  // The first value in (low, high] whose behaviour under one setting differs from that at low. Breakpoints seen elsewhere are tried first.
  [[nodiscard]] std::uint64_t bisect(std::uint64_t low, std::uint64_t high, std::size_t setting, const signature& at_low, std::vector<std::uint64_t>& known) {
    const auto fill = static_cast<script_fill>(setting);
    const auto same = [&](std::uint64_t at) {
      script_.set_last(at);
      return evaluate(fill) == at_low;
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
  void split(const point& low, const point& high, std::vector<std::uint64_t>& known, std::vector<std::uint64_t>& breakpoints) {
    std::size_t setting = 0;
    while (setting < low.seen.size() && low.seen[setting] == high.seen[setting]) ++setting;
    if (setting == low.seen.size() || over_budget()) return;
    const std::uint64_t at = bisect(low.at, high.at, setting, low.seen[setting], known);
    const point before = at - 1 == low.at ? low : point{at - 1, evaluate_all(at - 1)};
    const point after = at == high.at ? high : point{at, evaluate_all(at)};
    split(low, before, known, breakpoints);
    breakpoints.push_back(at);
    split(after, high, known, breakpoints);
  }

  [[nodiscard]] bool over_budget() {
    if (law_.evaluations < options_.max_evaluations) return false;
    law_.complete = false;
    return true;
  }

  [[nodiscard]] std::vector<std::uint64_t> find_breakpoints(std::vector<std::uint64_t>& known) {
    std::vector<std::uint64_t> breakpoints;
    point previous{probes_.front(), evaluate_all(probes_.front())};
    for (std::size_t i = 1; i < probes_.size(); ++i) {
      point next{probes_[i], evaluate_all(probes_[i])};
      split(previous, next, known, breakpoints);
      previous = std::move(next);
    }
    // One probe off the grid for every interval; what it finds, the grid had missed.
    std::vector<std::uint64_t> all;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i <= breakpoints.size(); ++i) {
      const std::uint64_t end = i < breakpoints.size() ? breakpoints[i] : uniform_steps;
      if (end - begin > 2) {
        const auto inside = begin + 1 + static_cast<std::uint64_t>(static_cast<double>(end - begin - 2) * 0.6180339887498949);
        const point left{begin, evaluate_all(begin)}, middle{inside, evaluate_all(inside)};
        if (!(left.seen == middle.seen)) {
          law_.grid_may_be_too_coarse = true;
          const point right{end - 1, evaluate_all(end - 1)};
          split(left, middle, known, all);
          split(middle, right, known, all);
        }
      }
      if (i < breakpoints.size()) all.push_back(end);
      begin = end;
    }
    return all;
  }

  void expand(const exact_mass& mass, std::uint32_t depth) {
    law_.depth = std::max(law_.depth, depth);
    const signature seen = evaluate(script_fill::zero);
    random_counter counter;
    int half = -1;
    for (const random_counter& read : script_.reads()) {
      if (!script_.lists(read, 0)) half = 0;
      else if (!script_.lists(read, 1)) half = 1;
      counter = read;
      if (half >= 0) break;
    }
    if (half < 0 || depth >= options_.max_depth || over_budget()) {
      if (half >= 0) law_.complete = false;
      ++law_.leaves;
      masses_[seen.outcome] += mass;
      return;
    }
    script_.push(counter, half, 0);
    const std::vector<std::uint64_t> breakpoints = find_breakpoints(known_[key_of(counter, half)]);
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i <= breakpoints.size(); ++i) {
      const std::uint64_t end = i < breakpoints.size() ? breakpoints[i] : uniform_steps;
      law_.narrowest = std::min(law_.narrowest, end - begin);
      script_.set_last(begin + (end - begin) / 2);
      expand(mass.scaled(end - begin), depth + 1);
      begin = end;
    }
    script_.pop();
  }

  Function& function_;
  Options options_;
  std::vector<std::uint64_t> probes_{};
  uniform_script script_{};
  std::map<Outcome, std::uint32_t> index_of_{};
  std::vector<exact_mass> masses_{};
  std::map<dimension, std::vector<std::uint64_t>> known_{};
  enumerated_law<Outcome> law_{};
};

SPECVERIFY_NAMESPACE_END

#endif
