// SPDX-License-Identifier: Apache-2.0
//! Times the computation of all integer weights of a row.
#include <specverify/row/integer_weights.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void write_weights(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  std::vector<std::uint32_t> weights(vocab_size);
  run(state, input, [&](const std::vector<float>& row) {
    if (!integer_weights(policy, view(row), {}, weights).ok()) state.SkipWithError("integer_weights");
    benchmark::DoNotOptimize(weights.data());
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(write_weights);
