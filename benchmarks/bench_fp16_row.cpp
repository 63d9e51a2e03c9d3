// SPDX-License-Identifier: Apache-2.0
//! Times the row statistics (digest), and the whole distribution as fp16 counts.
#include <specverify/row/fp16_row.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void row_of_halves(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, {});
  std::vector<token_id> ids(vocab_size);
  std::vector<std::uint32_t> counts(vocab_size);
  run(state, input, [&](const std::vector<float>& row) {
    const auto read = made.read(policy, row);
    if (!read) return state.SkipWithError("read_row");
    const auto out = read->fp16_counts(ids, counts);
    if (!out) return state.SkipWithError("fp16_counts");
    benchmark::DoNotOptimize(out);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(row_of_halves);
