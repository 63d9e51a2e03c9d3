// SPDX-License-Identifier: Apache-2.0
//! Digest and one log-probability: the exact normaliser is paid for.
#include <specverify/row/log_probability.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void log_of_argmax(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  digested made(vocab_size, {}, {});
  double result = 0;
  run(state, input, [&](const std::vector<float>& row) {
    if (!made.make(policy, row, {}, {}) ||
        !log_probability(policy, view(row), {}, made.value, made.space, made.value.argmax, result).ok())
      state.SkipWithError("log_probability");
    benchmark::DoNotOptimize(result);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(log_of_argmax);
