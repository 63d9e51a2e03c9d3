// SPDX-License-Identifier: Apache-2.0
//! Lists the tasks that the benchmarks time on rows of one shape: functions of this library, and two alternatives.
#ifndef SPECVERIFY_BENCHMARKS_CUDA_TASKS_CUH
#define SPECVERIFY_BENCHMARKS_CUDA_TASKS_CUH

#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/cuda/log_sum_exp.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>
#include <specverify/cuda/temperature_perturbation.cuh>
#include <specverify/cuda/verify.cuh>

#include <string>

#include "inputs.cuh"
#include "measure.cuh"
#include "peers.cuh"

namespace cuda_bench {

using namespace specverify;

//! Times this library. A new kernel must add a line here.
template <class Scalar>
void measure_ours(const machine& on, const inputs<Scalar>& in) {
  const char* who = "specverify";
  const auto digest = [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(read_rows(exec::cuda{stream, on.tuning}, in.batch(copy)), "read_rows");
  };
  const auto draw = [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(sample(exec::cuda{stream, on.tuning}, in.batch(copy), in.draws(), in.out.tokens.data()), "sample");
  };
  measure<graph>(on, in, who, "digest", digest);
  measure<graph>(on, in, who, "sample", draw);
  measure<graph>(on, in, who, "digest+sample", [&](std::uint32_t copy, cudaStream_t stream) {
    digest(copy, stream);
    draw(copy, stream);
  });
  measure<graph>(on, in, who, "argmax", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(specverify::argmax(exec::cuda{stream, on.tuning}, in.rows_of(copy), in.transform(), in.out.best.data()),
              "argmax");
  });
  for (const std::uint32_t k : {16u, 256u, 2048u}) {
    const std::string task = "select_" + std::to_string(k);
    measure<graph>(on, in, who, task.c_str(), [&](std::uint32_t copy, cudaStream_t stream) {
      must_take(select(exec::cuda{stream, on.tuning}, in.batch(copy), k, in.selected()), "select");
    });
  }
}

//! Times numbers and distributions of rows, and verification of three drafts per request.
template <class Scalar>
void measure_our_laws(const machine& on, const inputs<Scalar>& in) {
  const char* who = "specverify";
  measure<graph>(on, in, who, "log_sum_exp", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(log_sum_exp(exec::cuda{stream, on.tuning}, in.rows_of(copy), in.transform(), in.out.sums.data()),
              "log_sum_exp");
  });
  measure<graph>(on, in, who, "lattice_100", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(quantize(exec::cuda{stream, on.tuning}, in.batch(copy), 100, in.laws()), "quantize");
  });
  measure<graph>(on, in, who, "perturbation", [&](std::uint32_t copy, cudaStream_t stream) {
    must_take(temperature_perturbation(exec::cuda{stream, on.tuning}, in.batch(copy), in.perturbed.data(), {},
                                       in.uniforms(), in.out.disagreements.data()),
              "temperature_perturbation");
  });
  if (in.drafts.requests == 0) return;
  cuda_tuning a_block_a_round = on.tuning;
  a_block_a_round.split_rounds = 0;
  const auto verify = [&](const char* task, const cuda_tuning& tuning) {
    measure<graph>(on, in, who, task, [&](std::uint32_t copy, cudaStream_t stream) {
      must_take(verify_batch(exec::cuda{stream, tuning}, device_token_rule{}, in.rounds(copy), in.uniforms(),
                             {in.out.verdicts.data(), nullptr}, in.round_memory()),
                "verify_batch");
    });
  };
  verify("verify_3", on.tuning);  // few rounds, so all rows are read first
  verify("verify_3_alone", a_block_a_round);
}

//! Times draws of the alternatives: a softmax to memory, then noise or a running sum.
template <class Scalar>
void measure_peer_draws(const machine& on, const inputs<Scalar>& in) {
  using namespace cuda_peers;
  const auto scale = static_cast<float>(1 / temperature);
  measure<graph>(on, in, "vllm-style", "softmax+draw", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.out.probabilities.data());
    peer_noise_kernel<threads>
        <<<in.count, threads, 0, stream>>>(in.out.probabilities.data(), in.size, in.key(), in.out.peer_tokens.data());
  });
  measure<graph>(on, in, "flashinfer-style", "softmax+draw", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_online_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.out.probabilities.data());
    peer_sum_kernel<threads>
        <<<in.count, threads, 0, stream>>>(in.out.probabilities.data(), in.size, in.key(), in.out.peer_tokens.data());
  });
  must(cudaGetLastError(), "peers");
}

//! Times verification by the alternatives, of three drafts per request. The dense distributions exist before.
template <class Scalar>
void measure_peer_rounds(const machine& on, const inputs<Scalar>& in) {
  using namespace cuda_peers;
  if (in.drafts.requests == 0) return;
  const auto scale = static_cast<float>(1 / temperature);
  const std::uint32_t requests = in.drafts.requests;
  measure<graph>(on, in, "vllm-style", "verify_3", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.out.probabilities.data());
    peer_recover_kernel<threads>
        <<<requests*(drafted::a_request + 1), threads, 0, stream>>>(in.round(), in.out.ids.data());
    peer_accept_kernel<threads>
        <<<(requests + threads - 1) / threads, threads, 0, stream>>>(in.round(), requests, in.out.ids.data());
  });
  measure<graph>(on, in, "flashinfer-style", "verify_3", [&](std::uint32_t copy, cudaStream_t stream) {
    peer_online_softmax_kernel<<<in.count, threads, 0, stream>>>(in.rows_of(copy), scale, in.out.probabilities.data());
    peer_chain_kernel<threads><<<requests, threads, 0, stream>>>(in.round());
  });
  must(cudaGetLastError(), "peers");
}

//! Prints the work of verification, because a ratio means little without it.
template <class Scalar>
void print_work(const machine& on, const inputs<Scalar>& in) {
  if (in.drafts.requests == 0 || !on.takes("verify_3")) return;
  must(cudaStreamSynchronize(on.stream), "verify_batch");
  double accepted = 0, tested = 0, read = 0, again = 0;
  const std::vector<device_verdict> all = in.out.verdicts.copied();
  for (std::uint32_t request = 0; request < in.drafts.requests; ++request) {
    const verdict& decided = all[request].decided;
    must_take(all[request].why, "a round");
    accepted += decided.accepted;
    tested += decided.counters.evaluated;
    read += decided.accepted + 1;
    again += decided.counters.exact_normalisers;
  }
  std::printf(
      "%-16s %-18s %.0f%% of tested drafts stand, %.0f%% of all drafts; %.0f%% of rows are looked at, %.0f%% again\n",
      "", "verify_3:", 100 * accepted / tested, 100 * accepted / (drafted::a_request * in.drafts.requests),
      100 * read / in.count, 100 * again / in.count);
}

template <class Scalar>
void measure_size(const machine& on, std::uint32_t rows, std::uint32_t vocab_size) {
  if (!fits<Scalar>(on, rows, vocab_size)) return;
  const inputs<Scalar> in(on.card, rows, vocab_size);
  measure_ours(on, in);
  measure_our_laws(on, in);
  print_work(on, in);
  measure_peer_draws(on, in);
  measure_peer_rounds(on, in);
}

}  // namespace cuda_bench

#endif
