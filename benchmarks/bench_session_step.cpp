// SPDX-License-Identifier: Apache-2.0
//! Times an edge's work in a whole session, without models and cloud. In some systems the row takes most time (hlm,
//! greedy), in others the selection (k_sqs, c_sqs) or the skip policy (cu_hlm, u_hlm). The time is per text of 100
//! tokens. Counters: `row_us` is the time per row read in microseconds, minimum over all texts, and `heap` is the
//! number of heap blocks allocated after `make`, which must be 0.
#include <specverify/all.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "support/alloc_guard.hpp"
#include "support/inputs.hpp"

namespace {

using namespace specverify;

constexpr std::uint32_t kinds = 16;  // rows that the models choose from by the last token

std::vector<std::vector<float>> rows_of(std::uint32_t vocab_size, float noise) {
  std::vector<std::vector<float>> made;
  for (std::uint32_t i = 0; i < kinds; ++i) {
    made.push_back(bench_inputs::make_row(vocab_size, i, bench_inputs::shape::peak));
    const std::vector<float> added = bench_inputs::make_row(vocab_size, kinds + i, bench_inputs::shape::flat);
    for (std::uint32_t v = 0; v < vocab_size; ++v) made.back()[v] += noise * added[v];
  }
  return made;
}

//! A model with precomputed rows, because only the session's time should count.
struct model {
  const std::vector<std::vector<float>>& rows;
  std::vector<std::uint32_t> at{};
  std::vector<float> weights = std::vector<float>(64, 0.01F);

  status feed(std::uint32_t, std::span<const token_id> tokens, std::uint32_t wanted) {
    at.clear();
    for (const token_id last : tokens.last(wanted)) at.push_back(static_cast<std::uint32_t>(last) * 2654435761u >> 28);
    return {};
  }
  row_view<float> row(std::uint32_t i) const { return logits_row(std::span<const float>(rows[at[i]])); }
  std::span<const float> attention(std::uint32_t) const { return weights; }
  void truncate(std::uint32_t) {}
};

using clock = std::chrono::steady_clock;

//! Adds up the time and the heap blocks of the edge's work.
struct watch {
  double seconds = 0;
  std::uint64_t taken = 0;
  template <class Work>
  auto operator()(Work work) {
    const specverify_test::alloc_guard guard;
    const clock::time_point start = clock::now();
    auto done = work();
    seconds += std::chrono::duration<double>(clock::now() - start).count();
    taken += guard.count();
    return done;
  }
};

//! Messages that one side sent and the other has not received, in preallocated memory.
struct message_queue {
  static constexpr std::size_t most = 4;
  std::vector<std::vector<std::byte>> space{most, std::vector<std::byte>(std::size_t{1} << 22)};
  std::size_t sizes[most] = {}, sent = 0, received = 0;
  status operator()(const session_output& out) {
    if (out.action != session_action::send) return {};
    std::copy(out.bytes.begin(), out.bytes.end(), space[sent % most].begin());
    sizes[sent++ % most] = out.bytes.size();
    return {};
  }
  bool empty() const { return sent == received; }
  std::span<const std::byte> take() {
    const std::size_t i = received++ % most;
    return std::span<const std::byte>(space[i]).first(sizes[i]);
  }
};

//! Generates one text. Returns the rows that the edge read, or 0 if the session failed.
template <class Edge>
std::size_t write_text(Edge& edge, cloud_session& cloud, model& small, model& large, watch& timed) {
  static message_queue up, down;
  up.received = up.sent, down.received = down.sent;
  std::size_t rows = 0;
  if (!edge.start(std::vector<token_id>{1, 2, 3}, 0).ok()) return 0;
  for (;;) {
    const session_work work = timed([&] { return take_outputs(edge, up); });
    if (work.wait == session_wait::over) return work.reason.ok() ? rows : 0;
    if (work.wait == session_wait::rows) {
      if (!small.feed(work.asked.position, work.asked.tokens, work.asked.rows).ok()) return 0;
      (void)timed([&] { return supply(edge, small, 0); });
      rows += 1;
    } else {
      if (down.empty() && (up.empty() || !deliver(cloud, up.take(), 0).ok() || !drive(cloud, large, down).ok()))
        return 0;
      if (!down.empty()) (void)timed([&] { return deliver(edge, down.take(), 0); });
    }
  }
}

template <class System>
void session_step(benchmark::State& state, System system) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  const std::vector<std::vector<float>> small_rows = rows_of(vocab_size, 0.1F), large_rows = rows_of(vocab_size, 0);
  model small{small_rows}, large{large_rows};
  edge_options device;
  device.session_id = 1;
  device.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  device.vocab_size = vocab_size;
  device.token_budget = 100;
  cloud_options server;
  server.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
  server.salt = 7;
  server.vocab_size = vocab_size;
  server.limits = cloud_session::limits_for(system.format_for(vocab_size));
  double least = 1e9;
  std::uint64_t taken = 0;
  for (auto _ : state) {
    auto edge = make_edge(device, system);
    auto cloud = make_cloud(server);
    if (!edge || !cloud) return state.SkipWithError("make");
    watch timed;
    const std::size_t rows = write_text(*edge, *cloud, small, large, timed);
    if (rows == 0) return state.SkipWithError("the session failed");
    state.SetIterationTime(timed.seconds);
    least = std::min(least, 1e6 * timed.seconds / static_cast<double>(rows));
    taken += timed.taken;
  }
  state.counters["row_us"] = least;
  state.counters["heap"] = static_cast<double>(taken);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Arg(512)->Arg(32000)->Arg(151936)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

}  // namespace

BENCHMARK_CAPTURE(session_step, k_sqs, k_sqs())->Apply(sizes);
BENCHMARK_CAPTURE(session_step, c_sqs, c_sqs({.max_support_size = 64}))->Apply(sizes);
BENCHMARK_CAPTURE(session_step, hlm, hlm())->Apply(sizes);
BENCHMARK_CAPTURE(session_step, greedy, greedy())->Apply(sizes);
BENCHMARK_CAPTURE(session_step, cu_hlm, cu_hlm())->Apply(sizes);
BENCHMARK_CAPTURE(session_step, u_hlm, u_hlm())->Apply(sizes);
