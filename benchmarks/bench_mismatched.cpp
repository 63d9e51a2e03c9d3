// SPDX-License-Identifier: Apache-2.0
//! Times lossy_token_rule on one draft that claims a compressed distribution with a tail and is always rejected or
//! always accepted. The result is a multiple of the time to read the row.
#include <specverify/verify/mismatched.hpp>

#include "support/inputs.hpp"

#include <array>
#include <vector>

namespace {

using namespace bench_inputs;

template <class Policy>
void one_draft(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  const bool accepted = state.range(1) != 0;
  rows input(vocab_size, true);
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
  for (std::uint32_t k = 0; k < 64; ++k) {
    ids.push_back(static_cast<token_id>(k * (vocab_size / 64)));
    counts.push_back(1u << 20);
  }
  const law claimed{ids.data(), counts.data(), 64, 3, (64u << 20) + 3 * (vocab_size - 64), vocab_size};
  const std::array<mismatched_draft, 1> drafts{{{accepted ? ids[1] : -2, claimed, 0, accepted ? 1u << 20 : 0u}}};
  const std::array<row_transform, 1> as_it_is{};
  std::vector<std::byte> memory(verify_workspace_size(vocab_size, {}, 1));
  std::uint32_t round = 0;
  run(state, input, [&](const std::vector<float>& row) {
    workspace scratch{memory};
    const std::array<row_view<float>, 1> views{view(row)};
    verify_request request;
    request.remaining_budget = 1;
    const auto said = lossy_token_rule{}.verify(policy, std::span<const mismatched_draft>(drafts),
                                                row_span_provider<float>(views, as_it_is),
                                                uniforms{philox{{{1, 2}}}, 0, round++}, request, scratch);
    if (!said || (said->accepted == 1) != accepted) state.SkipWithError("verdict");
    benchmark::DoNotOptimize(said->next_token);
  });
}

}  // namespace

BENCHMARK_CAPTURE(one_draft, seq, exec::seq)->ArgNames({"V", "accepted"})->Args({32000, 0})->Args({32000, 1});
BENCHMARK_CAPTURE(one_draft, simd, exec::simd)
    ->ArgNames({"V", "accepted"})
    ->Args({32000, 0})
    ->Args({32000, 1})
    ->Args({128256, 0});
