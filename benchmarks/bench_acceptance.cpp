// SPDX-License-Identifier: Apache-2.0
//! One accept test of a row: digest and test, the uniform chosen anew each time, so a few tests need the exact
//! normaliser.
#include <specverify/row/acceptance.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void digest_and_test(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  digested made(vocab_size, {}, {});
  std::uint32_t position = 0, exact = 0;
  run(state, input, [&](const std::vector<float>& row) {
    acceptance out;
    if (!made.make(policy, row, {}, {})) state.SkipWithError("digest");
    const double uniform = decision_uniform(philox{}({position++, 0, 0, purpose::acceptance, 0}));
    if (!accept_token(policy, view(row), {}, made.value, made.space, made.value.argmax, 95, 100, uniform, out).ok())
      state.SkipWithError("accept_token");
    exact += out.exact ? 1u : 0u;
    benchmark::DoNotOptimize(out);
  });
  state.counters["exact_share"] = static_cast<double>(exact) / position;
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(digest_and_test);
