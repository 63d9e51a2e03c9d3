// SPDX-License-Identifier: Apache-2.0
//! Times the greedy token, compared with std::max_element.
#include <specverify/row/argmax.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void greedy(benchmark::State& state, Policy policy) {
  rows input(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  run(state, input, [&](const std::vector<float>& row) {
    const auto out = argmax(policy, view(row), {});
    if (!out || row[static_cast<std::size_t>(out->token)] < row[0]) state.SkipWithError("argmax");
    benchmark::DoNotOptimize(out);
  });
}

void max_element(benchmark::State& state) {
  rows input(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  run(state, input,
      [](const std::vector<float>& row) { benchmark::DoNotOptimize(std::max_element(row.begin(), row.end())); });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(greedy);
BENCHMARK(max_element)->Apply(bench_inputs::sizes);
