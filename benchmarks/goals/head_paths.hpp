// SPDX-License-Identifier: Apache-2.0
//! Times the decision head at the paper's sizes (2048 + 4096 -> 256). One position is timed next to a plain sum of the
//! weights, and several positions next to products and sums in registers.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_HEAD_PATHS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_HEAD_PATHS_HPP

#include <specverify/decision_head/mlp.hpp>

#include "path.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace bench_goals {

//! Numbers at a 64-byte address.
class aligned_numbers {
 public:
  aligned_numbers(std::size_t size, float scale)
      : size_(size), memory_(static_cast<float*>(std::aligned_alloc(64, (size * sizeof(float) + 63) / 64 * 64))) {
    std::mt19937 bits(static_cast<std::uint32_t>(size));
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < size; ++i) memory_.get()[i] = scale * normal(bits);
  }
  std::span<const float> first(std::size_t count) const { return {memory_.get(), count}; }
  std::span<const float> all() const { return first(size_); }

 private:
  struct release {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::size_t size_;
  std::unique_ptr<float, release> memory_;
};

class paper_head {
 public:
  static constexpr std::uint32_t positions = 4;

  paper_head()
      : first_(shape_.width * shape_.input_size(), 0.0125f),
        others_(shape_.width, 0.1f),
        drafter_(positions * shape_.drafter_size, 1),
        target_(positions * shape_.target_size, 1) {}
  void score(std::uint32_t count) const {
    std::array<double, positions> scores{};
    const specverify::head_weights head{shape_, first_.all(), others_.all(), others_.all(), 0.1f, {}, 0.5};
    must(head_scores(head, specverify::drafter_input::hidden_state, drafter_.first(count * shape_.drafter_size),
                     target_.first(count * shape_.target_size), {0.5f, 0.5f, 0.1f, 0.1f, -1},
                     std::span(scores).first(count))
             .ok(),
         "head_scores");
    keep(scores);
  }
  std::span<const float> weights() const { return first_.all(); }

 private:
  specverify::head_shape shape_{specverify::hidden_mode::predicting, 2048, 4096, 256};
  aligned_numbers first_, others_, drafter_, target_;
};

//! Returns microseconds per call, the lower third of many rounds. The calls take turns.
inline std::vector<double> times_in_turn(const std::vector<std::function<void()>>& calls) {
  constexpr int rounds = 31, repeats = 4;
  std::vector<std::vector<double>> times(calls.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const double start = thread_seconds();
      for (int repeat = 0; repeat < repeats; ++repeat) calls[i]();
      times[i].push_back(1e6 * (thread_seconds() - start) / repeats);
    }
  }
  std::vector<double> found;
  for (std::vector<double>& one : times) {
    std::nth_element(one.begin(), one.begin() + rounds / 3, one.end());
    found.push_back(one[rounds / 3]);
  }
  return found;
}

//! Prints a line for every path, like speed.cpp. The floor of several positions is the time of the products at full
//! speed.
inline void measure_head(bool& first) {
  const paper_head head;
  const auto weights = head.weights();
  constexpr std::array<std::uint32_t, 2> counts{1, paper_head::positions};
  double in_registers = 0;
  std::vector<std::function<void()>> calls{[&] { in_registers = products(); }};
  for (const std::uint32_t count : counts) calls.emplace_back([&head, count] { head.score(count); });
  for (const plain_sum sum : plain_sums) calls.emplace_back([=] { keep(sum(weights.data(), weights.size())); });
  const std::vector<double> times = times_in_turn(calls);
  const double reading = *std::min_element(times.begin() + 1 + counts.size(), times.end());
  const double each = 2.0 * static_cast<double>(weights.size()) * times[0] / in_registers;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::printf("%s\n  {\"path\": \"head, %u position%s\", \"rows\": \"%s\", \"V\": %zu, \"offset\": 0, ",
                first ? "" : ",", counts[i], counts[i] == 1 ? "" : "s", counts[i] == 1 ? "weights" : "products",
                weights.size());
    std::printf("\"us\": %.4f, \"floor_us\": %.4f}", times[1 + i], counts[i] == 1 ? reading : each * counts[i]);
    first = false;
  }
  std::fprintf(stderr, "  head: plain sum of its weights %.2f us, %.1f GB/s; products at most %.1f Gflop/s\n", reading,
               4e-3 * static_cast<double>(weights.size()) / reading, 1e-3 * in_registers / times[0]);
}

}  // namespace bench_goals

#endif
