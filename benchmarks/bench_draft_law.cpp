// SPDX-License-Identifier: Apache-2.0
//! Times the device's work for one drafted token without the model: from a row to a distribution (top-K, sparse
//! lattice). It is compared with reading the row once, and with a plain implementation: softmax into an array, full
//! sort, the lattice rule in double.
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/top_k.hpp>

#include "support/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

using namespace bench_inputs;

template <class Policy>
void draft_law_of_row(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, false);
  const top_k sparsifier{static_cast<std::uint32_t>(state.range(1))};
  const read_request wanted = draft_law_request(vocab_size, sparsifier, {});
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, wanted) +
                                draft_law_workspace_size(vocab_size, sparsifier, {}));
  std::uint32_t resolution = 0;
  run(state, input, [&](const std::vector<float>& row) {
    workspace space{memory};
    const auto reading = read_row(policy, view(row), {}, wanted, space);
    if (!reading) return state.SkipWithError("refused");
    const auto made = make_draft_law(*reading, sparsifier, {}, {.resolution = 100}, space);
    if (!made) return state.SkipWithError("refused");
    resolution = made->drafted.resolution;
    benchmark::DoNotOptimize(made->drafted.counts);
  });
  if (resolution != 100) state.SkipWithError("the counts do not sum");
}

void softmax_sort_round(benchmark::State& state) {
  const auto vocab_size = static_cast<std::size_t>(state.range(0));
  const auto support_size = static_cast<std::size_t>(state.range(1));
  const std::vector<float> logits = make_row(static_cast<std::uint32_t>(vocab_size), 0, shape::peak);
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
    for (std::size_t i = 0; i < support_size; ++i)
      counts[i] = static_cast<std::uint32_t>(100 * law[order[i]] / kept + 0.5);
    benchmark::DoNotOptimize(counts.data());
  }
}

}  // namespace

BENCHMARK_CAPTURE(draft_law_of_row, seq, exec::seq)
    ->ArgNames({"V", "K"})
    ->Args({32000, 16})
    ->Args({128256, 16})
    ->Args({128256, 64});
BENCHMARK_CAPTURE(draft_law_of_row, simd, exec::simd)
    ->ArgNames({"V", "K"})
    ->Args({32000, 16})
    ->Args({128256, 16})
    ->Args({128256, 64});
BENCHMARK(softmax_sort_round)->ArgNames({"V", "K"})->Args({32000, 16})->Args({128256, 16});
