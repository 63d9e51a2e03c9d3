// SPDX-License-Identifier: Apache-2.0
//! Times the cost of calls apart from reading: rows of 1 to 4096 entries, and verification of 8 drafts over rows so
//! small that only checks, uniforms and decisions take time. `row_ns` is the time per row in nanoseconds, for 9 rows.
#include <specverify/row/argmax.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/token.hpp>

#include "support/inputs.hpp"

#include <array>

namespace {

using namespace bench_inputs;

constexpr std::uint32_t length = 8;

template <class Action>
void per_call(benchmark::State& state, const Action& action) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  const std::vector<float> row = make_row(vocab_size, 1, shape::flat);
  row_memory memory(vocab_size, {}, {});
  for (auto _ : state) {
    if (!action(row, memory)) return state.SkipWithError("refused");
  }
}

void find_largest(benchmark::State& state) {
  per_call(state, [](const std::vector<float>& row, row_memory&) {
    const auto found = argmax(exec::simd, view(row), {});
    benchmark::DoNotOptimize(found);
    return found.ok();
  });
}

void read(benchmark::State& state) {
  per_call(state, [](const std::vector<float>& row, row_memory& memory) {
    const auto found = memory.read(exec::simd, row);
    benchmark::DoNotOptimize(found->argmax());
    return found.ok();
  });
}

void read_and_accept(benchmark::State& state) {
  per_call(state, [](const std::vector<float>& row, row_memory& memory) {
    const auto found = memory.read(exec::simd, row);
    const auto said = found->accept({0, 1, 1u << 24}, 0.5);
    benchmark::DoNotOptimize(said->accepted);
    return said.ok();
  });
}

void read_and_sample(benchmark::State& state) {
  std::uint32_t position = 0;
  per_call(state, [&](const std::vector<float>& row, row_memory& memory) {
    const auto found = memory.read(exec::simd, row);
    const auto drawn = found->sample(uniforms{philox{{1, 2}}, position++, 0}.at(purpose::bonus_draw));
    benchmark::DoNotOptimize(drawn->token);
    return drawn.ok();
  });
}

//! All 8 drafts are accepted, and a bonus token follows.
template <class Rule>
void verify_eight(benchmark::State& state, Rule rule) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::vector<float>> values;
  std::array<row_view<float>, length + 1> rows;
  std::array<claimed_draft, length> drafts;
  for (std::uint32_t i = 0; i <= length; ++i) values.push_back(make_row(vocab_size, i, shape::flat));
  for (std::uint32_t i = 0; i <= length; ++i) {
    rows[i] = view(values[i]);
    const auto largest = argmax(exec::simd, rows[i], {});
    if (i < length) drafts[i] = {largest->token, 1, 1u << 24};
  }
  const std::array<row_transform, 1> transform{};
  std::vector<std::byte> memory(verify_workspace_size(vocab_size, {}, length));
  std::uint32_t round = 0;
  const double start = thread_seconds();
  for (auto _ : state) {
    workspace scratch{std::span(memory)};
    const auto said =
        rule.verify(exec::simd, std::span<const claimed_draft>(drafts), row_span_provider<float>(rows, transform),
                    uniforms{philox{{1, 2}}, 0, round++}, {}, scratch);
    if (!said || said->accepted != length) return state.SkipWithError("a draft was rejected");
    benchmark::DoNotOptimize(said->next_token);
  }
  state.counters["row_ns"] = 1e9 * (thread_seconds() - start) / (static_cast<double>(round) * (length + 1));
}

void small_sizes(benchmark::internal::Benchmark* registered) {
  registered->ArgName("V");
  for (const std::int64_t vocab_size : {1, 16, 256, 1024, 4096}) registered->Arg(vocab_size);
}

}  // namespace

BENCHMARK(find_largest)->Apply(small_sizes);
BENCHMARK(read)->Apply(small_sizes);
BENCHMARK(read_and_accept)->Apply(small_sizes);
BENCHMARK(read_and_sample)->Apply(small_sizes);
BENCHMARK_CAPTURE(verify_eight, token_rule, token_rule{})->Apply(small_sizes);
BENCHMARK_CAPTURE(verify_eight, greedy_rule, greedy_rule{})->Apply(small_sizes);
