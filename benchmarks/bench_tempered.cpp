// SPDX-License-Identifier: Apache-2.0
//! Times twenty draws of one token at random temperatures on an existing digest, and the twenty probabilities.
#include <specverify/row/tempered.hpp>

#include <array>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

struct twenty {
  std::array<double, 20> temperatures{}, uniforms{};
  explicit twenty(std::uint32_t position) {
    for (std::uint32_t m = 0; m < 20; ++m) {
      temperatures[m] = 2.0 * decision_uniform(philox{{1, 2}}({position, 0, m, purpose::perturbation_temperature, 0}));
      uniforms[m] = decision_uniform(philox{{1, 2}}({position, 0, m, purpose::perturbed_draw, 0}));
    }
  }
};

template <class Policy>
void draws(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  read_request wanted;
  wanted.top_entries = 256;
  std::vector<row_memory> made;
  std::vector<result<row_reading<Policy, float>>> readings;
  for (const auto& row : input.values) {
    made.emplace_back(vocab_size, row_transform{}, wanted);
    readings.push_back(made.back().read(policy, row, wanted));
    if (!readings.back()) return state.SkipWithError("read_row");
  }
  std::uint32_t position = 0;
  std::uint64_t exact = 0;
  run(state, input, [&](const std::vector<float>& row) {
    const auto& from = *readings[static_cast<std::size_t>(&row - input.values.data())];
    const twenty numbers(position++);
    const auto out = tempered_draws(from, from.argmax(), numbers.temperatures, numbers.uniforms);
    if (!out) return state.SkipWithError("draws");
    exact += out->reads.quick;
    benchmark::DoNotOptimize(out);
  });
  state.counters["further_reads"] = static_cast<double>(exact) / position;
}

template <class Policy>
void probabilities(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, {});
  const twenty numbers(0);
  run(state, input, [&](const std::vector<float>& row) {
    std::array<double, 20> out{};
    const auto read = made.read(policy, row);
    if (!read || !tempered_probabilities(*read, read->argmax(), numbers.temperatures, out))
      return state.SkipWithError("probabilities");
    benchmark::DoNotOptimize(out);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(draws);
SPECVERIFY_BENCH_POLICIES(probabilities);
