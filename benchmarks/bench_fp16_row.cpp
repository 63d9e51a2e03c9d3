// SPDX-License-Identifier: Apache-2.0
//! Digest and the whole law as fp16 counts.
#include <specverify/row/fp16_row.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void row_of_halves(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  digested made(vocab_size, {}, {});
  std::vector<token_id> ids(vocab_size);
  std::vector<std::uint32_t> counts(vocab_size);
  fp16_row result;
  run(state, input, [&](const std::vector<float>& row) {
    if (!made.make(policy, row, {}, {}) ||
        !fp16_row_counts(policy, view(row), {}, made.value, made.space, std::span<token_id>(ids),
                         std::span<std::uint32_t>(counts), result)
             .ok())
      state.SkipWithError("fp16_row");
    benchmark::DoNotOptimize(result);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(row_of_halves);
