// SPDX-License-Identifier: Apache-2.0
//! Times a round of 8 drafts for rules that compare argmaxes, next to std::max_element on each row. `row_us` is the
//! time per row read, in microseconds.
#ifndef SPECVERIFY_BENCHMARKS_SUPPORT_GREEDY_ROUND_HPP
#define SPECVERIFY_BENCHMARKS_SUPPORT_GREEDY_ROUND_HPP

#include <specverify/verify/concepts.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace bench_greedy_round {

namespace sv = specverify;

inline constexpr std::uint32_t length = 8;

inline std::vector<std::vector<float>> random_rows(std::uint32_t vocab_size) {
  std::minstd_rand bits(vocab_size);
  std::normal_distribution<float> normal(0, 2);
  std::vector<std::vector<float>> rows(length + 1, std::vector<float>(vocab_size));
  for (auto& row : rows) {
    for (float& z : row) z = normal(bits);
  }
  return rows;
}

inline sv::token_id best_of(const std::vector<float>& row) {
  return static_cast<sv::token_id>(std::max_element(row.begin(), row.end()) - row.begin());
}

inline void count_rows(benchmark::State& state) {
  state.counters["row_us"] = benchmark::Counter(static_cast<double>(state.iterations()) * (length + 1) * 1e-6,
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

//! `draft_of(i, best)` must return the i-th draft, given the argmax of the row. Every draft must be accepted.
template <class Policy, class Rule, class DraftOf>
void verify(benchmark::State& state, const Rule& rule, DraftOf draft_of, std::size_t workspace_bytes = 0) {
  const auto values = random_rows(static_cast<std::uint32_t>(state.range(0)));
  std::vector<sv::row_view<float>> views;
  std::vector<sv::claimed_draft> drafts;
  for (const auto& row : values) {
    views.push_back(sv::logits_row<float>(row));
    drafts.push_back({draft_of(drafts.size(), best_of(row)), 0, 0});
  }
  drafts.pop_back();
  const std::vector<sv::row_transform> transform(1);
  std::vector<std::byte> memory(workspace_bytes);
  sv::workspace scratch{std::span(memory)};
  for (auto _ : state) {
    const auto said = rule.verify(Policy{}, std::span<const sv::claimed_draft>(drafts),
                                  sv::row_span_provider<float>(views, transform), sv::uniforms<>{}, {}, scratch);
    if (!said || said->accepted != length) state.SkipWithError("a draft was rejected");
  }
  count_rows(state);
}

inline void baseline(benchmark::State& state) {
  const auto values = random_rows(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    for (const auto& row : values) benchmark::DoNotOptimize(std::max_element(row.begin(), row.end()));
  }
  count_rows(state);
}

}  // namespace bench_greedy_round

#endif
