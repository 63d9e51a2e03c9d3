// SPDX-License-Identifier: Apache-2.0
// Verifies the drafts of 64 requests at each step. A graph captures the step once and replays it on one stream.
#include <specverify/core/secret.hpp>
#include <specverify/cuda/verify.cuh>

#include <cstdio>
#include <random>
#include <vector>

using namespace specverify;

// Device memory of a step. The engine allocates it once, and its contents may change between replays.
struct verification {
  device_rounds<bfloat16_bits> rounds;  // rows, drafts and their offsets
  device_uniforms<> uniforms;           // key, position and round of each request
  device_verdict* verdicts;             // one per request
  device_memory scratch;                // verify_memory_size(exec::cuda{}, rounds) bytes, aligned to 64
};

// Enqueues one kernel and returns, so a graph can capture it.
status enqueue_verification(const verification& step, cudaStream_t stream) {
  return verify_batch(exec::cuda{stream}, device_token_rule{}, step.rounds, step.uniforms, {step.verdicts, nullptr},
                      step.scratch);
}

#if defined(__CUDACC__)
template <class T>
T* on_device(const std::vector<T>& values) {
  T* data = nullptr;
  cudaMalloc(&data, values.size() * sizeof(T));
  cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return data;
}

int main() {
  constexpr std::uint32_t requests = 64, size = 32000;
  std::vector<device_draft> drafts;  // without distributions: point masses, which are lossless for any drafter
  std::vector<std::uint32_t> begin{0}, places(2 * requests);        // position and round of each request
  const session_secret secret = secret_from(std::random_device{});  // secret of the server
  const std::uint64_t salt = salt_from(std::random_device{});       // of the session
  std::vector<philox_key> keys;
  for (std::uint32_t i = 0; i < requests; ++i) {
    for (std::uint32_t k = 0; k < i % 9; ++k) drafts.push_back({static_cast<token_id>((i + k) % size), 0, 0, {}});
    begin.push_back(static_cast<std::uint32_t>(drafts.size()));
    places[i] = 100 + i;
    keys.push_back(derive_verdict_key(secret, i, salt));
  }
  const std::uint32_t rows = begin.back() + requests;  // one row per draft, and one more per request
  std::vector<bfloat16_bits> logits(std::size_t{rows} * size);
  for (std::size_t v = 0; v < logits.size(); ++v) logits[v] = {static_cast<std::uint16_t>(0x4180u + v % 61)};
  verification step{};
  step.rounds = {{on_device(logits), size, rows, size}, {}, requests, on_device(drafts), on_device(begin)};
  std::uint32_t* const there = on_device(places);
  step.uniforms = {on_device(keys), 1, there, there + requests};
  step.verdicts = on_device(std::vector<device_verdict>(requests));
  step.scratch.size = verify_memory_size(exec::cuda{}, step.rounds);
  cudaMalloc(&step.scratch.data, step.scratch.size);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  const status why = enqueue_verification(step, stream);
  cudaStreamEndCapture(stream, &graph);
  if (!why.ok() || cudaGraphInstantiate(&replay, graph, 0) != cudaSuccess) return 1;
  std::vector<device_verdict> verdicts(requests);
  for (int round = 0; round < 3; ++round) {  // an engine's kernels write logits, drafts, positions and rounds here
    cudaMemcpyAsync(there, places.data(), places.size() * sizeof(std::uint32_t), cudaMemcpyHostToDevice, stream);
    cudaGraphLaunch(replay, stream);
    cudaMemcpyAsync(verdicts.data(), step.verdicts, requests * sizeof(device_verdict), cudaMemcpyDeviceToHost, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
    for (std::uint32_t i = 0; i < requests; ++i) {
      if (!verdicts[i].why.ok()) return 1;
      places[i] += verdicts[i].decided.commit_length;
      ++places[requests + i];
    }
    std::printf("round %d: request 63 goes on at %u\n", round, places[63]);
  }
}
#endif
