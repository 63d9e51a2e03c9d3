// SPDX-License-Identifier: Apache-2.0
//! Times the reading of a whole distribution, its profile, and the smallest size k with N(k) <= 0.1, compared with a
//! full sort in double and a linear search.
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include "support/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace {

using namespace bench_inputs;

template <class Policy>
void budget_of_row(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, false);
  const vocabulary_budget rule{0.1};
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, rule.request({}, vocab_size)) +
                                rule.workspace_size({}, vocab_size) + compressed_law_workspace_size(vocab_size));
  std::uint32_t size = 0;
  run(state, input, [&](const std::vector<float>& row) {
    workspace space{memory};
    const auto reading = read_row(policy, view(row), {}, rule.request({}, vocab_size), space);
    if (!reading) return state.SkipWithError("refused");
    const auto kept = rule.select(*reading, {}, space);
    if (!kept) return state.SkipWithError("refused");
    const auto made = compressed_law(*kept, {}, space);
    if (!made) return state.SkipWithError("refused");
    size = kept->size();
    benchmark::DoNotOptimize(made->counts);
  });
  state.counters["k"] = size;
}

void sort_and_walk(benchmark::State& state) {
  const auto vocab_size = static_cast<std::size_t>(state.range(0));
  const std::vector<float> logits = make_row(static_cast<std::uint32_t>(vocab_size), 0, shape::peak);
  std::vector<double> law(vocab_size);
  std::size_t k = 1;
  for (auto _ : state) {
    const float maximum = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (std::size_t v = 0; v < vocab_size; ++v) sum += law[v] = std::exp(static_cast<double>(logits[v] - maximum));
    for (double& mass : law) mass /= sum;
    std::sort(law.begin(), law.end(), std::greater<>());
    double rest = 1;
    for (k = 1; k < vocab_size; ++k) {
      rest -= law[k - 1];
      const double mean = rest / static_cast<double>(vocab_size - k);
      double distortion = 0;
      for (std::size_t i = k; i < vocab_size && law[i] > mean; ++i) distortion += 2 * (law[i] - mean);
      if (distortion <= 0.1) break;
    }
    benchmark::DoNotOptimize(k);
  }
  state.counters["k"] = static_cast<double>(k);
}

}  // namespace

BENCHMARK_CAPTURE(budget_of_row, seq, exec::seq)->ArgName("V")->Arg(32000)->Arg(128256);
BENCHMARK_CAPTURE(budget_of_row, simd, exec::simd)->ArgName("V")->Arg(32000)->Arg(128256);
BENCHMARK(sort_and_walk)->ArgName("V")->Arg(32000);
