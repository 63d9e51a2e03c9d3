// SPDX-License-Identifier: Apache-2.0
//! The device's work for one drafted token beside its model: row to law (top-K, sparse lattice), against the time to read the row once
//! and against the plain way: softmax into an array, full sort, the lattice rule in double.
#include <specverify/core/random.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

using namespace specverify;

double seconds_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

// Logits of a Zipf law with noise, in an order without pattern.
std::vector<float> make_logits(std::uint32_t vocab_size) {
  std::vector<float> logits(vocab_size);
  for (std::uint32_t i = 0; i < vocab_size; ++i) {
    const auto rank = static_cast<std::uint32_t>((std::uint64_t{i} * 2654435761u) % vocab_size);
    logits[i] = static_cast<float>(-1.2 * std::log(1.0 + rank) + decision_uniform(philox{}({i, 0, 0, purpose::training, 0})));
  }
  return logits;
}

// Seconds to sum the row once, the least of many.
double read_floor(const std::vector<float>& logits) {
  double best = 1;
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    float lanes[16] = {};
    for (std::size_t v = 0; v + 16 <= logits.size(); v += 16) {
      for (std::size_t lane = 0; lane < 16; ++lane) lanes[lane] += logits[v + lane];
    }
    benchmark::DoNotOptimize(lanes);
    best = std::min(best, seconds_since(start));
  }
  return best;
}

template <class Policy>
void draft_law_of_row(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  const std::vector<float> logits = make_logits(vocab_size);
  const top_k rule{static_cast<std::uint32_t>(state.range(1))};
  std::vector<std::byte> memory(draft_law_workspace_size(vocab_size, {}, rule, {}, sparse_lattice{}));
  const double floor = read_floor(logits);
  double best = 1;
  draft_law made;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    workspace space{memory};
    if (!make_draft_law(policy, logits_row(std::span<const float>(logits)), {}, rule, {}, sparse_lattice{}, {100}, space, made).ok())
      state.SkipWithError("refused");
    benchmark::DoNotOptimize(made.drafted.counts);
    best = std::min(best, seconds_since(start));
  }
  state.counters["x_read_floor"] = best / floor;  // least against least
  if (made.drafted.resolution != 100) state.SkipWithError("the counts do not sum");
}

void softmax_sort_round(benchmark::State& state) {
  const auto vocab_size = static_cast<std::size_t>(state.range(0));
  const auto support_size = static_cast<std::size_t>(state.range(1));
  const std::vector<float> logits = make_logits(static_cast<std::uint32_t>(vocab_size));
  std::vector<double> law(vocab_size);
  std::vector<std::uint32_t> order(vocab_size), counts(support_size);
  for (auto _ : state) {
    const float maximum = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (std::size_t v = 0; v < vocab_size; ++v) sum += law[v] = std::exp(static_cast<double>(logits[v] - maximum));
    for (double& mass : law) mass /= sum;
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return law[a] > law[b]; });
    double kept = 0;
    for (std::size_t i = 0; i < support_size; ++i) kept += law[order[i]];
    for (std::size_t i = 0; i < support_size; ++i) counts[i] = static_cast<std::uint32_t>(100 * law[order[i]] / kept + 0.5);
    benchmark::DoNotOptimize(counts.data());
  }
}

}  // namespace

BENCHMARK_CAPTURE(draft_law_of_row, seq, exec::seq)->ArgNames({"V", "K"})->Args({32000, 16})->Args({128256, 16})->Args({128256, 64});
BENCHMARK_CAPTURE(draft_law_of_row, simd, exec::simd)->ArgNames({"V", "K"})->Args({32000, 16})->Args({128256, 16})->Args({128256, 64});
BENCHMARK(softmax_sort_round)->ArgNames({"V", "K"})->Args({32000, 16})->Args({128256, 16});
