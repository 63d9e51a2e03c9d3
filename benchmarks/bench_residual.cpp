// SPDX-License-Identifier: Apache-2.0
//! Times a residual draw on an existing digest, which is not part of the time. q has 8 ids.
#include <specverify/distribution/law.hpp>
#include <specverify/row/residual.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void draw_from_residual(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  std::vector<row_memory> made;
  std::vector<result<row_reading<Policy, float>>> readings;
  std::vector<token_id> ids;
  for (token_id id = 0; id < 8; ++id) ids.push_back(1000 * id + 5);
  const std::vector<std::uint32_t> counts{30, 20, 10, 10, 10, 10, 5, 5};
  const law drafted{ids.data(), counts.data(), 8, 0, 100, vocab_size};
  for (const auto& row : input.values) {
    made.emplace_back(vocab_size, row_transform{}, read_request{});
    readings.push_back(made.back().read(policy, row));
    if (!readings.back()) return state.SkipWithError("read_row");
  }
  std::uint32_t position = 0;
  std::uint64_t trials = 0;
  run(state, input, [&](const std::vector<float>&) {
    const uniforms random{philox{{1, 2}}, position++, 0};
    const auto out = readings[input.at]->residual(drafted, random.at(purpose::residual_draw));
    if (!out) return state.SkipWithError("residual");
    trials += out->trials;
    benchmark::DoNotOptimize(out);
  });
  state.counters["trials"] = static_cast<double>(trials) / position;
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(draw_from_residual);
