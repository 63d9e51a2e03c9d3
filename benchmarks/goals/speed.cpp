// SPDX-License-Identifier: Apache-2.0
// Times vocabulary-wide work next to a plain sum of the same rows, in one run. Every round times every path once,
// because other work on the machine then affects all paths alike. Prints JSON for scripts/bench_check.
#include "half_paths.hpp"
#include "head_paths.hpp"
#include "perturbation_paths.hpp"
#include "row_paths.hpp"
#include "rows.hpp"
#include "verify_paths.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using bench_goals::ordinary_paths, bench_goals::path, bench_goals::reading, bench_goals::row_set,
    bench_goals::top_entries;
using specverify::noise_kind;

//! Returns the time of one path in a round, in microseconds per call.
double time_of(const path& one, row_set& rows, int calls) {
  calls = (calls + one.rows - 1) / one.rows * one.rows;
  const double start = bench_goals::thread_seconds();
  for (int i = 0; i < calls; ++i) one.call(rows.next());
  return 1e6 * (bench_goals::thread_seconds() - start) / calls;
}

//! Returns the lower third of the times, because other work on the machine can only add time.
double lower_third(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 3);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

//! Returns every path for ordinary rows.
std::vector<path> all_paths(std::uint32_t vocab_size) {
  std::vector<path> paths = ordinary_paths(vocab_size);
  paths.push_back(bench_goals::perturbation_path(vocab_size));
  for (path& added : bench_goals::verify_paths(vocab_size)) paths.push_back(std::move(added));
  return paths;
}

//! Result of one repeat on a set of rows: a time for every path, and that of the fastest plain sum.
struct taken {
  std::vector<double> us;
  double floor = 1e300;
  int in_flight = 0;  //!< vectors in flight of that sum
};

//! `paths` must end with the plain sums.
taken take(const std::vector<path>& paths, row_set& rows) {
  constexpr int rounds = 31;
  const int calls = 16 * std::clamp(static_cast<int>(262144 / rows.vocab_size()), 1, 32);  // hides the clock's cost
  std::vector<std::vector<double>> times(paths.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < paths.size(); ++i) times[i].push_back(time_of(paths[i], rows, calls));
  }
  taken found;
  const std::size_t own = paths.size() - bench_goals::plain_sums.size();
  for (std::size_t i = 0; i < own; ++i) found.us.push_back(lower_third(times[i]));
  for (std::size_t i = own; i < paths.size(); ++i) {
    const double us = lower_third(times[i]);
    if (us >= found.floor) continue;
    found.floor = us;
    found.in_flight = 4 * static_cast<int>(i - own + 1);
  }
  return found;
}

//! Minimum floors of earlier runs, by "V offset rows", from a file of lines "microseconds V offset rows".
std::map<std::string, double>& least_floors() {
  static std::map<std::string, double> floors;
  return floors;
}
void read_floors(const char* file) {
  std::ifstream in(file);
  double us = 0;
  for (std::string rows; in >> us && std::getline(in >> std::ws, rows);) least_floors()[rows] = us;
}

//! Measures rows again if the sum is slower than in an earlier run, because the machine was then busy. The repeat with
//! the fastest sum counts, which favours no path.
void measure(row_set& rows, std::vector<path> paths, bool& first) {
  constexpr int takes = 4;
  constexpr double settled = 1.03;
  for (const bench_goals::plain_sum sum : bench_goals::plain_sums)
    paths.push_back({"", [sum](std::span<const float> row) { bench_goals::keep(sum(row.data(), row.size())); }});
  const auto known =
      least_floors().find(std::to_string(rows.vocab_size()) + " " + std::to_string(rows.offset()) + " " + rows.name());
  taken best = take(paths, rows);
  int number = 1;
  for (; number < takes && known != least_floors().end() && best.floor > settled * known->second; ++number) {
    taken other = take(paths, rows);
    if (other.floor < best.floor) best = std::move(other);
  }
  const double bytes_per_second = 4e6 * rows.vocab_size() / best.floor;
  for (std::size_t i = 0; i < best.us.size(); ++i) {
    std::printf(
        "%s\n  {\"path\": \"%s\", \"rows\": \"%s\", \"V\": %u, \"offset\": %u, \"us\": %.4f, \"floor_us\": %.4f, "
        "\"floor_bytes_per_s\": %.4g, \"count\": %u, \"address\": \"%p\"}",
        first ? "" : ",", paths[i].name.c_str(), rows.name().c_str(), rows.vocab_size(), rows.offset(), best.us[i],
        best.floor, bytes_per_second, rows.count(), static_cast<const void*>(rows.first()));
    first = false;
  }
  std::fprintf(stderr, "  V %u, %s: %u at %p (64 n + %u), plain sum of %d vectors %.2f us, %.1f GB/s%s\n",
               rows.vocab_size(), rows.name().c_str(), rows.count(), static_cast<const void*>(rows.first()),
               rows.offset(), best.in_flight, best.floor, 1e-9 * bytes_per_second, number > 1 ? ", taken again" : "");
}

void measure_recorded(const char* place, bool& first) {
  try {
    for (const auto& file : bench_goals::npy_files(place)) {
      row_set rows = row_set::recorded(bench_goals::read_npy(file));
      measure(rows, ordinary_paths(rows.vocab_size()), first);
    }
  } catch (const std::exception& error) {
    bench_goals::must(false, error.what());
  }
}

}  // namespace

//! usage: speed [quick] [FLOORS]; SPECVERIFY_ROWS: a .npy file of recorded rows, or a folder of such files
int main(int count, char** arguments) {
  bool quick = false;
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]) == "quick")
      quick = true;
    else
      read_floors(arguments[i]);
  }
  bool first = true;
  std::printf("{\"isa\": \"%s\", \"rows\": [", bench_goals::isa);
  bench_goals::measure_head(first);
  bench_goals::measure_halves(first);
  const std::vector<std::uint32_t> all{4096, 32000, 50257, 128256, 151936, 262144}, few{32000, 128256};
  row_set usual = row_set::ordinary(49152, 1, 0);
  measure(usual,
          {bench_goals::race(49152), bench_goals::race(49152, "race, vLLM in float", noise_kind::vllm_fp32),
           bench_goals::race(49152, "race, vLLM in double", noise_kind::vllm_fp64),
           bench_goals::race(49152, "race, SGLang", noise_kind::sglang)},
          first);
  for (const std::uint32_t vocab_size : quick ? few : all) {
    for (const bool rotating : {false, true}) {
      row_set rows = row_set::ordinary(vocab_size, rotating ? 16 : 1, 0);
      measure(rows, all_paths(vocab_size), first);
    }
    if (!quick) {
      row_set distant = row_set::dram(vocab_size);
      measure(distant, all_paths(vocab_size), first);
    }
    if (vocab_size != 32000 && vocab_size != 128256) continue;
    row_set shifted = row_set::ordinary(vocab_size, 1, 16), flat = row_set::flat(vocab_size);
    measure(shifted, all_paths(vocab_size), first);
    measure(flat, ordinary_paths(vocab_size), first);
    for (std::uint32_t kind = 0; kind < hard_rows::kinds; ++kind) {
      row_set rows = row_set::hard(vocab_size, kind);
      measure(rows,
              {reading("digest, top-64", vocab_size, top_entries(64)),
               reading("digest, top-1024", vocab_size, top_entries(1024))},
              first);
    }
  }
  if (const char* place = std::getenv("SPECVERIFY_ROWS"); place != nullptr && !quick) measure_recorded(place, first);
  std::printf("\n]}\n");
  return 0;
}
