// SPDX-License-Identifier: Apache-2.0
//! Times a token from a row's logits (digest and draw), compared with softmax and std::discrete_distribution.
#include <specverify/row/sample.hpp>

#include <cmath>
#include <random>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void digest_and_draw(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, {});
  run_draws(state, input, [&](const std::vector<float>& row) { return made.read(policy, row); });
}

void discrete_distribution(benchmark::State& state) {
  rows input(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  std::vector<double> law;
  std::mt19937_64 engine;
  run(state, input, [&](const std::vector<float>& row) {
    const float maximum = *std::max_element(row.begin(), row.end());
    law.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) law[i] = std::exp(row[i] - maximum);
    std::discrete_distribution<int> draw(law.begin(), law.end());
    benchmark::DoNotOptimize(draw(engine));
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(digest_and_draw);
BENCHMARK(discrete_distribution)->Apply(bench_inputs::sizes);
