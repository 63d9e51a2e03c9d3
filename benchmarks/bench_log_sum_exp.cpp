// SPDX-License-Identifier: Apache-2.0
//! Times the logarithm of the normalizer of a row.
#include <specverify/row/log_sum_exp.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void log_of_sum(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  run(state, input, [&](const std::vector<float>& row) {
    const auto found = log_sum_exp(policy, view(row), {});
    if (!found) state.SkipWithError("log_sum_exp");
    benchmark::DoNotOptimize(found);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(log_of_sum);
