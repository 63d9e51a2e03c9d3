// SPDX-License-Identifier: Apache-2.0
//! Times a reading (digest) and one log-probability, including the exact normalizer.
#include <specverify/row/log_probability.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void log_of_argmax(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, {});
  run(state, input, [&](const std::vector<float>& row) {
    const auto read = made.read(policy, row);
    if (!read) return state.SkipWithError("read_row");
    const auto out = read->log_probability(read->argmax());
    if (!out) return state.SkipWithError("log_probability");
    benchmark::DoNotOptimize(out);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(log_of_argmax);
