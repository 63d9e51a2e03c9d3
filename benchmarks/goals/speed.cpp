// SPDX-License-Identifier: Apache-2.0
// Times of vocabulary-wide work next to a plain sum of the same rows, in one run: every round times every path once, so
// that whatever else the machine does falls on all of them alike. Prints JSON for scripts/bench_check.
#include "row_paths.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace {

using bench_goals::ordinary_paths, bench_goals::path, bench_goals::reading, bench_goals::row_set,
    bench_goals::survivors;

//! One time of one path in a round, in microseconds a call.
double time_of(const path& one, row_set& rows, int calls) {
  const double start = bench_goals::thread_seconds();
  for (int i = 0; i < calls; ++i) one.call(rows.next());
  return 1e6 * (bench_goals::thread_seconds() - start) / calls;
}

//! The lower third of what was measured: other work on the machine only ever adds.
double lower_third(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 3);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

void measure(row_set& rows, std::vector<path> paths, bool& first) {
  constexpr int rounds = 31;
  const int calls = 16 * std::clamp(static_cast<int>(262144 / rows.vocab_size()), 1, 32);  // the clock costs little
  for (const bench_goals::plain_sum sum : bench_goals::plain_sums)
    paths.push_back({"", [sum](std::span<const float> row) { bench_goals::keep(sum(row.data(), row.size())); }});
  std::vector<std::vector<double>> times(paths.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < paths.size(); ++i) times[i].push_back(time_of(paths[i], rows, calls));
  }
  double floor = 1e300;
  for (std::size_t i = paths.size() - bench_goals::plain_sums.size(); i < paths.size(); ++i)
    floor = std::min(floor, lower_third(times[i]));
  for (std::size_t i = 0; i < paths.size() - bench_goals::plain_sums.size(); ++i) {
    std::printf(
        "%s\n  {\"path\": \"%s\", \"rows\": \"%s\", \"V\": %u, \"offset\": %u, \"us\": %.4f, \"floor_us\": %.4f}",
        first ? "" : ",", paths[i].name.c_str(), rows.name().c_str(), rows.vocab_size(), rows.offset(),
        lower_third(times[i]), floor);
    first = false;
  }
  std::fprintf(stderr, "  V %u, %s, +%u bytes: plain sum %.2f us, %.1f GB/s\n", rows.vocab_size(), rows.name().c_str(),
               rows.offset(), floor, 4e-3 * rows.vocab_size() / floor);
}

}  // namespace

//! usage: speed [quick]
int main(int count, char** arguments) {
  const bool quick = count > 1 && std::string_view(arguments[1]) == "quick";
  bool first = true;
  std::printf("{\"isa\": \"%s\", \"rows\": [", bench_goals::isa);
  const std::vector<std::uint32_t> all{4096, 32000, 50257, 128256, 151936, 262144}, few{32000, 128256};
  for (const std::uint32_t vocab_size : quick ? few : all) {
    for (const bool rotating : {false, true}) {
      row_set rows = row_set::ordinary(vocab_size, rotating ? 16 : 1, 0);
      measure(rows, ordinary_paths(vocab_size), first);
    }
    if (vocab_size != 32000 && vocab_size != 128256) continue;
    row_set shifted = row_set::ordinary(vocab_size, 1, 16);
    measure(shifted, ordinary_paths(vocab_size), first);
    for (std::uint32_t kind = 0; kind < hard_rows::kinds; ++kind) {
      row_set rows = row_set::hard(vocab_size, kind);
      measure(rows,
              {reading("digest, top-64", vocab_size, survivors(64)),
               reading("digest, top-1024", vocab_size, survivors(1024))},
              first);
    }
  }
  std::printf("\n]}\n");
  return 0;
}
