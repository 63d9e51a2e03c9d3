// SPDX-License-Identifier: Apache-2.0
//! Times the uncertainty of a token from its row with M = 20 perturbed temperatures (digest, top entries and draws),
//! compared with 20 softmaxes and 20 draws of the standard library.
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <cmath>
#include <random>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void from_a_row(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  std::vector<std::byte> memory(perturbation_workspace_size(vocab_size));
  std::uint32_t position = 0;
  std::uint64_t exact = 0;
  run(state, input, [&](const std::vector<float>& row) {
    workspace scratch{std::span<std::byte>(memory)};
    const auto token = static_cast<token_id>(std::max_element(row.begin(), row.begin() + 64) - row.begin());
    const auto reading = read_row(policy, view(row), perturbed_transform({}, {}), perturbed_request(), scratch);
    if (!reading) return state.SkipWithError("read");
    const auto out = temperature_perturbation(*reading, token, {}, uniforms{philox{{1, 2}}, position++, 0});
    if (!out) return state.SkipWithError("perturbation");
    exact += out->reads.quick;
    benchmark::DoNotOptimize(out->disagreements);
  });
  state.counters["further_reads"] = static_cast<double>(exact) / position;
}

template <class Policy>
void mean_on_a_grid(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  std::vector<std::byte> memory(perturbation_workspace_size(vocab_size));
  run(state, input, [&](const std::vector<float>& row) {
    workspace scratch{std::span<std::byte>(memory)};
    const auto reading = read_row(policy, view(row), {}, {}, scratch);
    if (!reading) return state.SkipWithError("read");
    const auto out = expected_disagreement(*reading, 7, {});
    if (!out) return state.SkipWithError("mean");
    benchmark::DoNotOptimize(*out);
  });
}

void standard_library(benchmark::State& state) {
  rows input(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  std::vector<double> law;
  std::mt19937_64 engine;
  run(state, input, [&](const std::vector<float>& row) {
    const float maximum = *std::max_element(row.begin(), row.end());
    law.resize(row.size());
    int different = 0;
    for (int m = 0; m < 20; ++m) {
      const float theta = 0.1f * static_cast<float>(m + 1);
      for (std::size_t i = 0; i < row.size(); ++i) law[i] = std::exp((row[i] - maximum) / theta);
      std::discrete_distribution<int> draw(law.begin(), law.end());
      different += draw(engine) != 7 ? 1 : 0;
    }
    benchmark::DoNotOptimize(different);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(from_a_row);
SPECVERIFY_BENCH_POLICIES(mean_on_a_grid);
BENCHMARK(standard_library)->Args({32000, 0})->ArgNames({"V", "rot"});
