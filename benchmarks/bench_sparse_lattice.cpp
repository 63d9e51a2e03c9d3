// SPDX-License-Identifier: Apache-2.0
//! Times the counts of one support with the library's integer rule, which uses a heap, compared with the paper's rule
//! in double with a full sort.
#include <specverify/core/random.hpp>
#include <specverify/quantize/sparse_lattice.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

using namespace specverify;

struct input {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> weights;
  std::vector<std::uint32_t> counts;
  std::vector<std::byte> memory;
};

// Zipf weights with noise, like the tail of a language model's distribution.
input make_input(std::uint32_t size) {
  input in;
  for (std::uint32_t i = 0; i < size; ++i) {
    const double noise = decision_uniform(philox{}({i, 0, 0, purpose::training, 0}));
    in.ids.push_back(static_cast<token_id>(3 * i));
    in.weights.push_back(static_cast<std::uint32_t>(0x1p30 * (1 + noise) / (1 + i)) + 1);
  }
  in.counts.resize(size);
  in.memory.resize(sparse_lattice::workspace_size(size));
  return in;
}

void integer_rule(benchmark::State& state) {
  input in = make_input(static_cast<std::uint32_t>(state.range(0)));
  const support kept{in.ids, in.weights, 0, static_cast<std::uint32_t>(3 * in.ids.size())};
  const auto resolution = static_cast<std::uint32_t>(state.range(1));
  for (auto _ : state) {
    workspace scratch{in.memory};
    if (!sparse_lattice{}.quantize(kept, resolution, in.counts, scratch).ok()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(in.counts.data());
  }
  if (std::accumulate(in.counts.begin(), in.counts.end(), 0u) != resolution)
    state.SkipWithError("the counts do not sum");
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void double_rule_with_sort(benchmark::State& state) {
  input in = make_input(static_cast<std::uint32_t>(state.range(0)));
  const auto resolution = static_cast<double>(state.range(1));
  std::vector<double> zeta(in.ids.size());
  std::vector<std::uint32_t> order(in.ids.size());
  for (auto _ : state) {
    const double total = std::accumulate(in.weights.begin(), in.weights.end(), 0.0);
    double excess = -resolution;
    for (std::size_t i = 0; i < zeta.size(); ++i) {
      const double scaled = resolution * (in.weights[i] / total), rounded = std::floor(scaled + 0.5);
      in.counts[i] = static_cast<std::uint32_t>(rounded);
      zeta[i] = rounded - scaled;
      excess += rounded;
      order[i] = static_cast<std::uint32_t>(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return zeta[a] < zeta[b]; });
    for (std::size_t i = 0; excess > 0; --excess) --in.counts[order[order.size() - 1 - i++]];
    for (std::size_t i = 0; excess < 0; ++excess) ++in.counts[order[i++]];
    benchmark::DoNotOptimize(in.counts.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

}  // namespace

BENCHMARK(integer_rule)->ArgNames({"K", "l"})->Args({16, 100})->Args({64, 100})->Args({256, 240})->Args({4096, 240});
BENCHMARK(double_rule_with_sort)
    ->ArgNames({"K", "l"})
    ->Args({16, 100})
    ->Args({64, 100})
    ->Args({256, 240})
    ->Args({4096, 240});
