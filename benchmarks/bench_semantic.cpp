// SPDX-License-Identifier: Apache-2.0
//! semantic_rule on 8 drafts, half of them accepted mismatches, against std::max_element on each row; `row_us` is the time per row read.
#include <specverify/verify/semantic.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace sv = specverify;

namespace {

constexpr std::uint32_t length = 8;

struct lenient {
  [[nodiscard]] sv::status score(std::uint32_t, double& rho) const noexcept {
    rho = 0.25;
    return {};
  }
};

std::vector<std::vector<float>> random_rows(std::uint32_t vocab_size) {
  std::minstd_rand bits(vocab_size);
  std::normal_distribution<float> normal(0, 2);
  std::vector<std::vector<float>> rows(length + 1, std::vector<float>(vocab_size));
  for (auto& row : rows) {
    for (float& z : row) z = normal(bits);
  }
  return rows;
}

template <class Policy>
void verify(benchmark::State& state) {
  const auto values = random_rows(static_cast<std::uint32_t>(state.range(0)));
  std::vector<sv::row_view<float>> views;
  std::vector<sv::claimed_draft> drafts;
  for (const auto& row : values) {
    views.push_back(sv::logits_row<float>(row));
    const auto best = static_cast<sv::token_id>(std::max_element(row.begin(), row.end()) - row.begin());
    drafts.push_back({drafts.size() % 2 == 0 ? best : best == 0 ? 1 : 0, 0, 0});
  }
  drafts.pop_back();
  const std::vector<sv::row_transform> transform(1);
  sv::workspace none;
  for (auto _ : state) {
    const sv::verdict said = sv::semantic_rule<lenient>{{}, 0.5}.verify(Policy{}, std::span<const sv::claimed_draft>(drafts),
                                                                        sv::row_span_provider<float>(views, transform), sv::philox{}, {}, none);
    if (said.accepted != length) state.SkipWithError("a draft was rejected");
  }
  state.counters["row_us"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * (length + 1) * 1e-6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void baseline(benchmark::State& state) {
  const auto values = random_rows(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    for (const auto& row : values) benchmark::DoNotOptimize(std::max_element(row.begin(), row.end()));
  }
  state.counters["row_us"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * (length + 1) * 1e-6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK(verify<sv::exec::simd_policy>)->Name("semantic_rule/simd/f32")->Arg(32000)->Arg(128256)->Unit(benchmark::kMicrosecond);
BENCHMARK(verify<sv::exec::seq_policy>)->Name("semantic_rule/seq/f32")->Arg(32000)->Unit(benchmark::kMicrosecond);
BENCHMARK(baseline)->Name("std_max_element/f32")->Arg(32000)->Arg(128256)->Unit(benchmark::kMicrosecond);
