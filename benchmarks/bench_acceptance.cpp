// SPDX-License-Identifier: Apache-2.0
//! Times one accept test per row: the reading of the row and the test. Each test uses a new uniform, so a few tests
//! need the exact normalizer.
#include <specverify/row/acceptance.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void digest_and_test(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, {});
  std::uint32_t position = 0, exact = 0;
  run(state, input, [&](const std::vector<float>& row) {
    const auto read = made.read(policy, row);
    if (!read) return state.SkipWithError("read_row");
    const auto out = read->accept({read->argmax(), 95, 100}, uniforms<>{{}, position++, 0}.at(purpose::acceptance));
    if (!out) return state.SkipWithError("accept");
    exact += out->exact ? 1u : 0u;
    benchmark::DoNotOptimize(out);
  });
  state.counters["exact_share"] = static_cast<double>(exact) / position;
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(digest_and_test);
