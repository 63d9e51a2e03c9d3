// SPDX-License-Identifier: Apache-2.0
//! A step of a batch as engines run it: again, captured in a graph and replayed, and on two streams at once.
#ifndef SPECVERIFY_TESTS_GPU_STEPS_HPP
#define SPECVERIFY_TESTS_GPU_STEPS_HPP

#include <gpu/round_checks.hpp>

namespace gpu_tests {

//! A digest, a token and the largest entries of each row. It stands in the unit of check_reads.
template <class Scalar>
status enqueue_reads(exec::cuda on, const batch<Scalar>& rows, device_token* tokens, const device_supports& supports) {
  if (const status why = read_rows(on, rows.made()); !why.ok()) return why;
  const auto random = rows.uniforms_on().at(purpose::bonus_draw, 3);
  if (const status why = sample(on, rows.made(), random, tokens); !why.ok()) return why;
  return select(on, rows.made(), static_cast<std::uint32_t>(supports.pitch), supports);
}

//! Verdicts, in the unit of check_rounds.
template <class Scalar>
status enqueue_rounds(exec::cuda on, const device_rounds<Scalar>& rounds, const device_uniforms<>& random,
                      const device_verdicts& out, device_memory scratch) {
  return verify_batch(on, device_token_rule{}, rounds, random, out, scratch);
}

//! read_rows, sample, select and verify_batch of one batch, with memory and scratch of its own.
template <class Scalar>
class step {
 public:
  static constexpr std::uint32_t k = 40;

  step(scene& where, const shape& how)
      : rows(where, how),
        tokens_(where, how.count),
        supports_(where, how.count),
        ids_(where, std::size_t{how.count} * k),
        weights_(where, std::size_t{how.count} * k),
        rounds_(where, rows),
        verdicts_(where, rounds_.count()),
        states_(where, how.count),
        scratch_bytes_(verify_memory_size(rounds_.made())),
        scratch_(where, scratch_bytes_, contents::none) {}
  step(const step&) = delete;
  step& operator=(const step&) = delete;

  [[nodiscard]] status enqueue(cudaStream_t stream) const {
    const exec::cuda on{stream};
    const device_supports supports{supports_.data(), ids_.data(), weights_.data(), k};
    if (const status why = enqueue_reads(on, rows, tokens_.data(), supports); !why.ok()) return why;
    return enqueue_rounds(on, rounds_.made(), rows.uniforms_on(), {verdicts_.data(), states_.data()},
                          {scratch_.data(), scratch_bytes_});
  }
  //! Against the host, at the batch's places of now.
  void compare(tally& found) const {
    const copied_digests<Scalar> digests(rows.made());
    compare_draws(rows, digests, tokens_.read(), 32, found);
    compare_verdicts(rounds_, token_rule{}, digests, {verdicts_.read(), states_.read()}, found);
  }
  //! What was selected: sizes, and as many ids and weights.
  [[nodiscard]] std::vector<std::uint32_t> selected() const {
    std::vector<std::uint32_t> all;
    const auto supports = supports_.read();
    const auto ids = ids_.read();
    const auto weights = weights_.read();
    for (std::size_t r = 0; r < supports.size(); ++r) {
      all.push_back(supports[r].size);
      for (std::size_t i = r * k; i < r * k + supports[r].size; ++i) {
        all.push_back(static_cast<std::uint32_t>(ids[i]));
        all.push_back(weights[i]);
      }
    }
    return all;
  }

  batch<Scalar> rows;

 private:
  array<device_token> tokens_;
  array<device_support> supports_;
  array<token_id> ids_;
  array<std::uint32_t> weights_;
  rounds_of<Scalar> rounds_;
  array<device_verdict> verdicts_;
  array<status> states_;
  std::size_t scratch_bytes_;
  array<std::byte> scratch_;
};

//! The same call twice leaves the same bits.
inline void check_repeat(const shape& how, tally& found) {
  scene where(how.seed);
  const step<float> one(where, how);
  if (!taken(one.enqueue(nullptr), "a step", found)) return;
  const copied_digests<float> first(one.rows.made());
  const std::vector<std::uint32_t> selected = one.selected();
  for (int again = 0; again < 5; ++again) {
    if (!taken(one.enqueue(nullptr), "a step", found)) return;
    const copied_digests<float> next(one.rows.made());
    found.expect(next.block_sums == first.block_sums, "block sums of another run", how.size, 0);
    found.expect(next.lane_sums == first.lane_sums, "lane sums of another run", how.size, 0);
    found.expect(one.selected() == selected, "supports of another run", how.size, 0);
    one.compare(found);
  }
}

#if defined(__CUDACC__)

//! A stream, or a graph of what `enqueue` puts on one.
class stream {
 public:
  stream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { must(cudaStreamDestroy(stream_), "cudaStreamDestroy"); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class graph {
 public:
  template <class Enqueue>
  graph(const stream& on, const Enqueue& enqueue, tally& found) {
    cudaGraph_t made = nullptr;
    (void)taken(enqueue(on.get()), "a step", found);  // kernels are loaded before a capture, as engines do it
    on.wait();
    must(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    (void)taken(enqueue(on.get()), "a captured step", found);
    must(cudaStreamEndCapture(on.get(), &made), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&exec_, made, 0), "cudaGraphInstantiate");
    must(cudaGraphDestroy(made), "cudaGraphDestroy");
  }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph() { must(cudaGraphExecDestroy(exec_), "cudaGraphExecDestroy"); }
  void replay(const stream& on) const { must(cudaGraphLaunch(exec_, on.get()), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

#endif

//! A graph, captured once, draws with the places of its replay.
inline void check_replay(const shape& how, tally& found) {
  scene where(how.seed);
  step<bfloat16_bits> one(where, how);
#if defined(__CUDACC__)
  const stream on;
  const graph captured(
      on, [&](cudaStream_t s) { return one.enqueue(s); }, found);
  const auto run = [&] {
    captured.replay(on);
    on.wait();
  };
#else  // the simulator has no graphs: the same launches again
  const auto run = [&] { (void)taken(one.enqueue(nullptr), "a step", found); };
#endif
  for (std::uint32_t token = 0; token < 4; ++token) {
    one.rows.advance(1);  // further on than where it was captured
    run();
    one.compare(found);
  }
}

//! Two batches on two streams, again and again: each finds what it finds alone.
inline void check_two_streams(const shape& how, tally& found) {
  scene where(how.seed);
  const step<float> one(where, how);
  const step<bfloat16_bits> other(where, {how.count, how.size + 1, how.seed + 1, true});
#if defined(__CUDACC__)
  const stream on, second;
  for (int again = 0; again < 50; ++again)
    if (!taken(one.enqueue(on.get()), "a step", found) || !taken(other.enqueue(second.get()), "a step", found)) return;
  on.wait();
  second.wait();
#else
  if (!taken(one.enqueue(nullptr), "a step", found) || !taken(other.enqueue(nullptr), "a step", found)) return;
#endif
  const std::vector<std::uint32_t> together = one.selected(), together_other = other.selected();
  one.compare(found);
  other.compare(found);
  if (!taken(one.enqueue(nullptr), "a step", found)) return;
  found.expect(one.selected() == together, "supports next to another stream", how.size, 0);
  if (!taken(other.enqueue(nullptr), "a step", found)) return;
  found.expect(other.selected() == together_other, "supports next to another stream", how.size, 0);
}

}  // namespace gpu_tests

#endif
