// SPDX-License-Identifier: Apache-2.0
//! Device memory of the checks that run on a GPU. Where g++ compiles them for the block simulator, it is the host's.
#ifndef SPECVERIFY_TESTS_GPU_MEMORY_HPP
#define SPECVERIFY_TESTS_GPU_MEMORY_HPP

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace gpu_tests {

#if defined(__CUDACC__)

//! Ends the program with CUDA's own words where a call fails: nothing that follows would say anything.
inline void must(cudaError_t why, const char* what) {
  if (why == cudaSuccess) return;
  std::printf("CUDA: %s: %s\n", what, cudaGetErrorString(why));
  std::exit(1);
}

//! What lives as long as a batch. On the simulator it is the device.
class scene {
 public:
  explicit scene(unsigned long long) {}
  template <class T>
  T* take(std::size_t count) {
    void* data = nullptr;
    must(cudaMalloc(&data, count == 0 ? 1 : count * sizeof(T)), "cudaMalloc");
    return static_cast<T*>(data);
  }
  static void give_back(void* data) { must(cudaFree(data), "cudaFree"); }
  //! Behind all that was enqueued before, and done when it returns: streams that do not wait for the default one would
  //! else overtake a copy.
  static void copy(void* to, const void* from, std::size_t bytes) {
    must(cudaDeviceSynchronize(), "what came before");
    must(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaMemcpy");
  }
  static void fill(void* data, int byte, std::size_t bytes) {
    must(cudaMemset(data, byte, bytes), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaMemset");
  }
  static std::string report() { return cudaGetErrorString(cudaDeviceSynchronize()); }
  static constexpr const char* nothing = "no error";
};

#else

inline void must(cudaError_t, const char*) {}

class scene {
 public:
  explicit scene(unsigned long long seed) : device_({.seed = seed}) {}
  template <class T>
  T* take(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + 64) / 64 * 64;
    taken_.emplace_back(std::aligned_alloc(64, bytes), &std::free);
    T* data = static_cast<T*>(taken_.back().get());
    device_.both(data, count);
    return data;
  }
  static void give_back(void*) {}  // a region is one until the device goes
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  static void fill(void* data, int byte, std::size_t bytes) {
    if (bytes != 0) std::memset(data, byte, bytes);
  }
  std::string report() const { return device_.report(); }
  static constexpr const char* nothing = "";

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> taken_{};
  simulator::device device_;
};

#endif

//! What memory holds before a kernel writes it.
enum class contents : unsigned char {
  written,  //!< bytes of 1, so that a place which no kernel writes is no result of the batch before
  none      //!< nothing: the initcheck of compute-sanitizer sees a kernel read it
};

//! Elements in device memory. `read` and `write` wait for what was enqueued before.
template <class T>
class array {
 public:
  array(scene& where, std::size_t count, contents before = contents::written)
      : data_(where.take<T>(count)), count_(count) {
    if (before == contents::written) scene::fill(data_, 1, count * sizeof(T));
  }
  array(scene& where, const std::vector<T>& values) : data_(where.take<T>(values.size())), count_(values.size()) {
    write(values);
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { scene::give_back(data_); }

  [[nodiscard]] T* data() const { return data_; }
  void write(const std::vector<T>& values) { scene::copy(data_, values.data(), values.size() * sizeof(T)); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(count_);
    scene::copy(values.data(), data_, count_ * sizeof(T));
    return values;
  }

 private:
  T* data_;
  std::size_t count_;
};

}  // namespace gpu_tests

#endif
