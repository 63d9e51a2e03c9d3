// SPDX-License-Identifier: Apache-2.0
//! Times 64 rows that exceed every cache, on one and on two threads: a plain sum, a digest, and a digest with 64
//! entries of each row.
#include <specverify/row/parallel.hpp>

#include <barrier>
#include <functional>
#include <thread>

#include "goals/floors.hpp"
#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

//! Threads that wait for work. Each takes every n-th row, for n threads.
class waiting_pool {
 public:
  explicit waiting_pool(std::uint32_t threads) : threads_(threads), meeting_(static_cast<std::ptrdiff_t>(threads)) {
    for (std::uint32_t t = 1; t < threads; ++t) others_.emplace_back([this, t] { serve(t); });
  }
  ~waiting_pool() {
    work_ = nullptr;
    meeting_.arrive_and_wait();
    for (std::thread& one : others_) one.join();
  }
  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    work_ = [this, count, &body](std::uint32_t first) {
      for (std::uint32_t i = first; i < count; i += threads_) body(i);
    };
    meeting_.arrive_and_wait();
    work_(0);
    meeting_.arrive_and_wait();
  }

 private:
  void serve(std::uint32_t thread) {
    for (;;) {
      meeting_.arrive_and_wait();
      if (!work_) return;
      work_(thread);
      meeting_.arrive_and_wait();
    }
  }
  std::uint32_t threads_;
  mutable std::barrier<> meeting_;
  mutable std::function<void(std::uint32_t)> work_;
  std::vector<std::thread> others_;
};

constexpr std::uint32_t row_count = 64, vocab_size = 128256;

const std::vector<float>& values() {
  static const std::vector<float> made = [] {
    std::vector<float> all;
    rows input(vocab_size, true);
    for (std::uint32_t i = 0; i < row_count; ++i) {
      const std::vector<float>& row = input.next();
      all.insert(all.end(), row.begin(), row.begin() + vocab_size);
    }
    return all;
  }();
  return made;
}

void plain_sum(benchmark::State& state) {
  const waiting_pool pool(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    pool(row_count, [](std::uint32_t i) {
      benchmark::DoNotOptimize(bench_goals::sum_of<8>(values().data() + std::size_t{i} * vocab_size, vocab_size));
    });
  }
}

void digests(benchmark::State& state, std::uint32_t top_entries) {
  const waiting_pool pool(static_cast<std::uint32_t>(state.range(0)));
  read_request request;
  request.top_entries = top_entries;
  std::vector<row_view<float>> batch;
  for (std::uint32_t i = 0; i < row_count; ++i)
    batch.push_back(logits_row(values().data() + std::size_t{i} * vocab_size, vocab_size));
  const std::vector<row_transform> transforms(1);
  std::vector<std::byte> memory(read_rows_workspace_size(row_count, vocab_size, {}, request));
  workspace scratch{std::span(memory)};
  std::vector<result<row_reading<exec::simd_policy, float>>> readings(row_count, status{errc::not_read});
  for (auto _ : state) {
    const workspace_scope scope(scratch);
    const auto read = read_rows(exec::parallel(pool), row_batch<float>{batch, transforms}, request, readings, scratch);
    if (!read || !readings[0]) state.SkipWithError("read_rows");
  }
}
void digest(benchmark::State& state) { digests(state, 0); }
void digest_with_64_entries(benchmark::State& state) { digests(state, 64); }

}  // namespace

BENCHMARK(plain_sum)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(digest)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(digest_with_64_entries)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();
