// SPDX-License-Identifier: Apache-2.0
//! Times of what a stream is given, by CUDA events over replays of a graph, next to a plain read of memory.
#ifndef SPECVERIFY_BENCHMARKS_CUDA_TIMING_CUH
#define SPECVERIFY_BENCHMARKS_CUDA_TIMING_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cuda_bench {

inline void must(cudaError_t why, const char* what) {
  if (why == cudaSuccess) return;
  std::printf("CUDA: %s: %s\n", what, cudaGetErrorString(why));
  std::exit(1);
}

//! Device memory, freed with it.
template <class T>
class array {
 public:
  explicit array(std::size_t count) : count_(count) {
    must(cudaMalloc(&data_, std::max<std::size_t>(1, count * sizeof(T))), "cudaMalloc");
  }
  explicit array(const std::vector<T>& values) : array(values.size()) {
    must(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { must(cudaFree(data_), "cudaFree"); }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

//! Reads memory and keeps nothing: what a row costs at least.
__global__ void __launch_bounds__(512) read_kernel(const uint4* data, std::size_t count, unsigned* out) {
  unsigned all = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; at + 3 * step < count; at += 4 * step) {
    const uint4 a = __ldg(data + at), b = __ldg(data + at + step), c = __ldg(data + at + 2 * step),
                d = __ldg(data + at + 3 * step);
    all ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; at < count; at += step) all ^= data[at].x ^ data[at].y ^ data[at].z ^ data[at].w;
  if (all == 0x9E3779B9u) *out = all;  // so that the loads are made
}

//! Calls on a stream, captured once and replayed.
class graph {
 public:
  //! `enqueue(i, stream)` for i = 0 .. calls - 1.
  template <class Enqueue>
  graph(cudaStream_t stream, int calls, const Enqueue& enqueue) : stream_(stream), calls_(calls) {
    cudaGraph_t made = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < calls; ++i) enqueue(i, stream);
    must(cudaStreamEndCapture(stream, &made), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&exec_, made, 0), "cudaGraphInstantiate");
    must(cudaGraphDestroy(made), "cudaGraphDestroy");
    must(cudaEventCreate(&begin_), "cudaEventCreate");
    must(cudaEventCreate(&end_), "cudaEventCreate");
  }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph() {
    must(cudaEventDestroy(begin_), "cudaEventDestroy");
    must(cudaEventDestroy(end_), "cudaEventDestroy");
    must(cudaGraphExecDestroy(exec_), "cudaGraphExecDestroy");
  }
  //! Microseconds of one call.
  [[nodiscard]] double time(int replays) const {
    float milliseconds = 0;
    must(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < replays; ++i) must(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch");
    must(cudaEventRecord(end_, stream_), "cudaEventRecord");
    must(cudaEventSynchronize(end_), "cudaEventSynchronize");
    must(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds) / (static_cast<double>(replays) * calls_);
  }
  //! Replays that take about so long.
  [[nodiscard]] int replays_for(double microseconds) const {
    (void)time(1);
    return static_cast<int>(std::min(1000.0, std::max(1.0, microseconds / (time(1) * calls_))));
  }

 private:
  cudaStream_t stream_;
  int calls_;
  cudaGraphExec_t exec_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

//! Of several samples.
struct timing {
  double least = 0;
  double median = 0;
};

inline timing timing_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples.front(), samples[samples.size() / 2]};
}

}  // namespace cuda_bench

#endif
