// SPDX-License-Identifier: Apache-2.0
//! Times work on a stream with CUDA events over replays of a graph, next to a plain read of memory.
#ifndef SPECVERIFY_BENCHMARKS_CUDA_TIMING_CUH
#define SPECVERIFY_BENCHMARKS_CUDA_TIMING_CUH

#include <specverify/cuda/tuning.cuh>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cuda_bench {

inline void must(cudaError_t why, const char* what) {
  if (why == cudaSuccess) return;
  std::printf("CUDA: %s: %s\n", what, cudaGetErrorString(why));
  std::exit(1);
}

//! Device memory that this object frees.
template <class T>
class array {
 public:
  explicit array(std::size_t count) : count_(count) {
    must(cudaMalloc(&data_, std::max<std::size_t>(1, count * sizeof(T))), "cudaMalloc");
  }
  explicit array(const std::vector<T>& values) : array(values.size()) { copy(values); }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { must(cudaFree(data_), "cudaFree"); }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  void copy(const std::vector<T>& values) {
    must(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaMemcpy");  // because the streams do not wait for the default stream
  }
  [[nodiscard]] std::vector<T> copied() const {
    std::vector<T> values(count_);
    must(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

//! Reads memory and keeps nothing, the minimum cost of a row.
template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads) read_kernel(const uint4* data, std::size_t count, unsigned* out) {
  unsigned all = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; at + 3 * step < count; at += 4 * step) {
    const uint4 a = __ldg(data + at), b = __ldg(data + at + step), c = __ldg(data + at + 2 * step),
                d = __ldg(data + at + 3 * step);
    all ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; at < count; at += step) all ^= data[at].x ^ data[at].y ^ data[at].z ^ data[at].w;
  if (all == 0x9E3779B9u) *out = all;  // keeps the compiler from dropping the loads
}

//! Returns a GPU's tuning as docs/gpu.md advises: that of the compute capability, with the GPU's number of
//! multiprocessors.
inline specverify::cuda_tuning tuning_of(const cudaDeviceProp& card) {
  specverify::cuda_tuning made = specverify::tuning_for(static_cast<std::uint32_t>(10 * card.major + card.minor));
  made.multiprocessors = static_cast<std::uint32_t>(card.multiProcessorCount);
  return made;
}

//! The GPU, and the memory that is read as a floor.
struct machine {
  explicit machine(std::FILE* lines) : csv(lines), memory(std::size_t{1} << 28), sink(1) {
    must(cudaGetDeviceProperties(&card, 0), "cudaGetDeviceProperties");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    must(cudaMemset(memory.data(), 1, memory.size()), "cudaMemset");
    tuning = tuning_of(card);
  }
  cudaDeviceProp card{};
  cudaStream_t stream = nullptr;
  std::FILE* csv;
  array<unsigned char> memory;
  array<unsigned> sink;
  specverify::cuda_tuning tuning;
  std::string only;  //!< only tasks whose name begins with it; empty: all
  [[nodiscard]] bool takes(const std::string& task) const { return task.rfind(only, 0) == 0; }

  void read(cudaStream_t on) const { read(on, memory.data(), memory.size()); }
  void read(cudaStream_t on, const void* data, std::size_t bytes) const {
    const std::size_t words = bytes / sizeof(uint4), most = 4 * static_cast<std::size_t>(card.multiProcessorCount);
    const auto blocks = static_cast<unsigned>(std::max<std::size_t>(1, std::min(most, words / 512)));
    read_kernel<512><<<blocks, 512, 0, on>>>(static_cast<const uint4*>(data), words, sink.data());
    must(cudaGetLastError(), "read_kernel");
  }
};

//! Work that is timed on a stream: microseconds per call, over `calls` calls.
template <class Launch>
class timed {
 public:
  timed(cudaStream_t stream, int calls, Launch launch) : stream_(stream), calls_(calls), launch_(std::move(launch)) {
    must(cudaEventCreate(&begin_), "cudaEventCreate");
    must(cudaEventCreate(&end_), "cudaEventCreate");
  }
  timed(const timed&) = delete;
  timed& operator=(const timed&) = delete;
  ~timed() {
    must(cudaEventDestroy(begin_), "cudaEventDestroy");
    must(cudaEventDestroy(end_), "cudaEventDestroy");
  }
  [[nodiscard]] double time(int replays) const {
    float milliseconds = 0;
    must(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < replays; ++i) launch_();
    must(cudaEventRecord(end_, stream_), "cudaEventRecord");
    must(cudaEventSynchronize(end_), "cudaEventSynchronize");
    must(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds) / (static_cast<double>(replays) * calls_);
  }
  //! Returns the number of replays that take about this time.
  [[nodiscard]] int replays_for(double microseconds) const {
    (void)time(1);
    return static_cast<int>(std::min(1000.0, std::max(1.0, microseconds / (time(1) * calls_))));
  }

 private:
  cudaStream_t stream_;
  int calls_;
  Launch launch_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

//! `enqueue(i, stream)` for i = 0 .. calls - 1, captured once and replayed.
class graph {
 public:
  template <class Enqueue>
  graph(cudaStream_t stream, int calls, const Enqueue& enqueue)
      : made_(capture(stream, calls, enqueue)),
        timed_(stream, calls, [made = made_, stream] { must(cudaGraphLaunch(made, stream), "cudaGraphLaunch"); }) {}
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph() { must(cudaGraphExecDestroy(made_), "cudaGraphExecDestroy"); }
  [[nodiscard]] double time(int replays) const { return timed_.time(replays); }
  [[nodiscard]] int replays_for(double microseconds) const { return timed_.replays_for(microseconds); }

 private:
  template <class Enqueue>
  [[nodiscard]] static cudaGraphExec_t capture(cudaStream_t stream, int calls, const Enqueue& enqueue) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    enqueue(0, stream);  // loads the kernels, because a capture cannot
    must(cudaStreamSynchronize(stream), "a call before it is captured");
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < calls; ++i) enqueue(i, stream);
    must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
    must(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return made;
  }
  cudaGraphExec_t made_;
  timed<std::function<void()>> timed_;
};

//! The calls, launched again each time. For calls that wait for the device, because a graph cannot capture them.
class plain_calls : public timed<std::function<void()>> {
 public:
  template <class Enqueue>
  plain_calls(cudaStream_t stream, int calls, const Enqueue& enqueue)
      : timed(stream, calls, [=] {
          for (int i = 0; i < calls; ++i) enqueue(i, stream);
        }) {}
};

//! Statistics of several samples.
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
