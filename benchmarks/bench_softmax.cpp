// SPDX-License-Identifier: Apache-2.0
//! Times the probabilities of a row, written as floats.
#include <specverify/row/softmax.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void write_softmax(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  std::vector<float> law(vocab_size);
  run(state, input, [&](const std::vector<float>& row) {
    if (!softmax(policy, view(row), {}, std::span<float>(law)).ok()) state.SkipWithError("softmax");
    benchmark::DoNotOptimize(law.data());
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(write_softmax);
