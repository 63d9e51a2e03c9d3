// SPDX-License-Identifier: Apache-2.0
// Provides the tasks to Python as a shared library, because other libraries and torch must be timed in one process, by
// one clock, on the same row. benchmarks/peers/torch_rows.py calls it.
#include "../goals/rows.hpp"
#include "llama_like.hpp"
#include "ours.hpp"
#include "packaged.hpp"
#include "standard.hpp"

namespace {

using bench_peers::peers;

peers& all() {
  static peers made;
  return made;
}
const bench_peers::peer& at(std::uint32_t index) { return all().at(index); }

}  // namespace

extern "C" {

const char* peers_isa() { return bench_goals::isa; }

//! Returns an ordinary row at a 64-byte address; it stays valid.
const float* peers_row(std::uint32_t vocab_size) {
  static std::vector<bench_goals::row_set> made;
  made.push_back(bench_goals::row_set::ordinary(vocab_size, 1, 0));
  return made.back().first();
}

//! Prepares every task for rows of this size. Returns the number of tasks.
std::uint32_t peers_prepare(std::uint32_t vocab_size) {
  all().clear();
  for (auto* part :
       {bench_peers::ours, bench_peers::standard, bench_peers::eigen, bench_peers::llama_like, bench_peers::packaged}) {
    for (bench_peers::peer& one : part(vocab_size)) all().push_back(std::move(one));
  }
  return static_cast<std::uint32_t>(all().size());
}

const char* peers_task(std::uint32_t index) { return at(index).task.c_str(); }
const char* peers_who(std::uint32_t index) { return at(index).who.c_str(); }
//! Does a task `calls` times. Returns the last result.
double peers_run(std::uint32_t index, const float* row, std::uint32_t vocab_size, std::uint32_t calls) {
  const bench_peers::peer& one = at(index);
  double answer = 0;
  for (std::uint32_t i = 0; i < calls; ++i) answer = one.call({row, vocab_size});
  return answer;
}

}  // extern "C"
