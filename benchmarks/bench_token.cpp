// SPDX-License-Identifier: Apache-2.0
//! Times token_rule on 8 drafts with sparse distributions: drafts drawn from them, all accepted, or the first rejected;
//! and a dense textbook baseline. `floors` is the time divided by the time to read the rows once (the sum of the
//! floats) in the same run. The benchmark cycles through about 30 MB of rows.
#include <specverify/verify/token.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <random>
#include <vector>

namespace sv = specverify;

namespace {

constexpr std::uint32_t length = 8, laws = 64;

struct world {
  std::vector<std::vector<float>> rows;
  std::vector<sv::token_id> ids;
  std::vector<std::uint32_t> counts;
  std::vector<sv::row_transform> transform{1};
  std::vector<std::byte> memory;

  explicit world(std::uint32_t vocab_size) {
    const std::size_t held =
        std::max<std::size_t>(length + 1, 30'000'000 / (4 * std::size_t{vocab_size}) / (length + 1) * (length + 1));
    std::minstd_rand bits(vocab_size);
    std::normal_distribution<float> normal(0, 2);
    for (std::size_t i = 0; i < held; ++i) {
      std::vector<float> row(vocab_size);
      for (float& z : row) z = normal(bits);
      for (std::uint32_t k = 0; k < laws; ++k)
        row[std::size_t{k} * (vocab_size / laws)] = 14.0f - 0.1f * static_cast<float>(k);
      rows.push_back(row);
    }
    for (std::uint32_t k = 0; k < laws; ++k) {
      ids.push_back(static_cast<sv::token_id>(k * (vocab_size / laws)));
      counts.push_back(1);
    }
    memory.resize(sv::verify_workspace_size(vocab_size, transform[0], length));
  }
  [[nodiscard]] sv::law law() const {
    return {ids.data(), counts.data(), laws, 0, laws, static_cast<std::uint32_t>(rows[0].size())};
  }
};

//! Returns the nanoseconds to read consecutive rows, the floor of the ratios.
double floor_per_row(const world& in) {
  double best = 1e18;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const std::clock_t begin = std::clock();  // CPU time, because the benchmarks below report it
    for (const auto& row : in.rows) {
      float lanes[32] = {};
      for (std::size_t v = 0; v + 32 <= row.size(); v += 32) {
        for (std::size_t j = 0; j < 32; ++j) lanes[j] += row[v + j];
      }
      benchmark::DoNotOptimize(lanes);
    }
    const double spent = static_cast<double>(std::clock() - begin) * (1e9 / CLOCKS_PER_SEC);
    best = std::min(best, spent / static_cast<double>(in.rows.size()));
  }
  return best;
}

void report(benchmark::State& state, const world& in, double rows_read) {
  const double floor = floor_per_row(in);
  state.counters["floor_us"] = floor / 1000;
  state.counters["rows"] = rows_read / static_cast<double>(state.iterations());
  state.counters["floors"] =
      benchmark::Counter(rows_read * floor * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

enum class drafts_are { accepted, rejected, drawn };

template <class Policy, drafts_are Kind>
void verify(benchmark::State& state) {
  world in(static_cast<std::uint32_t>(state.range(0)));
  sv::workspace scratch{std::span<std::byte>(in.memory)};
  const sv::philox source{{{1, 2}}};
  std::size_t at = 0;
  double rows_read = 0;
  std::uint64_t committed = 0;
  std::uint32_t round = 0;
  for (auto _ : state) {
    std::vector<sv::row_view<float>> views;
    for (std::uint32_t i = 0; i <= length; ++i)
      views.push_back(sv::logits_row<float>(in.rows[(at + i) % in.rows.size()]));
    const sv::uniforms random{source, 0, round++};
    const sv::row_span_provider<float> rows(views, in.transform);
    sv::result<sv::verdict> said = sv::status{};
    if constexpr (Kind == drafts_are::drawn) {
      std::vector<sv::draft> drafts;
      for (std::uint32_t i = 0; i < length; ++i)
        drafts.push_back(sv::draw(in.law(), sv::uniforms{source, i, round}.at(sv::purpose::draft_draw)));
      said = sv::token_rule{}.verify(Policy{}, std::span<const sv::draft>(drafts), rows, random, {}, scratch);
    } else {
      // A claim with one count in 2^20 is accepted if p is above 10^-6, but a token without mass is never accepted.
      const sv::claimed_draft claim{Kind == drafts_are::accepted ? in.ids[0] : -2,
                                    Kind == drafts_are::accepted ? 1u : 0u, 1u << 20};
      const std::vector<sv::claimed_draft> drafts(length, claim);
      said = sv::token_rule{}.verify(Policy{}, std::span<const sv::claimed_draft>(drafts), rows, random, {}, scratch);
    }
    if (!said) state.SkipWithError("verdict");
    committed += said->commit_length;
    const std::uint32_t touched = said->accepted == length ? length + 1 : said->accepted + 1;
    rows_read += touched;
    at = (at + touched) % in.rows.size();  // rows come from memory, because the cache holds only the last round
  }
  state.counters["tokens"] = benchmark::Counter(static_cast<double>(committed), benchmark::Counter::kAvgIterations);
  report(state, in, rows_read);
}

//! A textbook implementation: the softmax of every row with std::exp, a dense subtraction, and a scan.
void baseline(benchmark::State& state) {
  const world in(static_cast<std::uint32_t>(state.range(0)));
  std::mt19937_64 bits(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<std::vector<float>> p(length + 1, std::vector<float>(in.rows[0].size()));
  double rows_read = 0;
  std::size_t at = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i <= length; ++i) {
      const auto& row = in.rows[(at + i) % in.rows.size()];
      float most = row[0];
      for (const float z : row) most = std::max(most, z);
      float sum = 0;
      for (std::size_t v = 0; v < row.size(); ++v) sum += p[i][v] = std::exp(row[v] - most);
      for (float& probability : p[i]) probability /= sum;
    }
    at = (at + length + 1) % in.rows.size();
    std::uint32_t accepted = 0;
    while (accepted < length &&
           uniform(bits) / laws < static_cast<double>(p[accepted][static_cast<std::size_t>(in.ids[bits() % laws])]))
      ++accepted;
    std::vector<float>& rest = p[accepted];
    if (accepted < length) {
      for (const sv::token_id id : in.ids)
        rest[static_cast<std::size_t>(id)] = std::max(0.0f, rest[static_cast<std::size_t>(id)] - 1.0f / laws);
    }
    double mass = 0;
    for (const float probability : rest) mass += static_cast<double>(probability);
    double target = uniform(bits) * mass;
    std::size_t token = 0;
    while (token + 1 < rest.size() && (target -= static_cast<double>(rest[token])) >= 0) ++token;
    benchmark::DoNotOptimize(token);
    rows_read += accepted == length ? length + 1 : accepted + 1;
  }
  report(state, in, rows_read);
}

}  // namespace

BENCHMARK(verify<sv::exec::simd_policy, drafts_are::drawn>)
    ->Name("token_rule/simd/f32/drawn")
    ->Arg(32000)
    ->Arg(128256)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(verify<sv::exec::simd_policy, drafts_are::accepted>)
    ->Name("token_rule/simd/f32/all_accepted")
    ->Arg(32000)
    ->Arg(128256)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(verify<sv::exec::simd_policy, drafts_are::rejected>)
    ->Name("token_rule/simd/f32/first_rejected")
    ->Arg(32000)
    ->Arg(128256)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(verify<sv::exec::seq_policy, drafts_are::drawn>)
    ->Name("token_rule/seq/f32/drawn")
    ->Arg(32000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(baseline)->Name("textbook/f32/drawn")->Arg(32000)->Arg(128256)->Unit(benchmark::kMicrosecond);
