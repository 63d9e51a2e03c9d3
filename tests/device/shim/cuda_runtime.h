// SPDX-License-Identifier: Apache-2.0
//! What kernels of this library use of CUDA, on the block simulator. Never on nvcc's path: its own is named alike.
#ifndef SPECVERIFY_TESTS_DEVICE_SHIM_CUDA_RUNTIME_H
#define SPECVERIFY_TESTS_DEVICE_SHIM_CUDA_RUNTIME_H

#if defined(__CUDACC__)
#error "this header stands in for CUDA's where there is no nvcc"
#endif

#define SPECVERIFY_CUDA_SIMULATOR 1  // for cuda/detail/compiler.cuh

#include <device/simulator/simulator.hpp>

#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static thread_local

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) ushort4 {
  unsigned short x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

inline uint3 threadIdx{}, blockIdx{};
inline dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

// ---- launching

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorInvalidConfiguration = 9 };
using cudaStream_t = struct CUstream_st*;
struct cudaLaunchAttribute {};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

namespace simulator {

template <class... P>
struct bound {
  void (*kernel)(P...);
  std::tuple<P...> arguments;
  static void enter(const void* packed) {
    const bound& self = *static_cast<const bound*>(packed);
    std::apply(self.kernel, self.arguments);
  }
};

}  // namespace simulator

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
  const simulator::bound<P...> packed{kernel, std::tuple<P...>(std::forward<A>(arguments)...)};
  const dim3 grid = config->gridDim, block = config->blockDim;
  if (config->dynamicSmemBytes != 0) return cudaErrorInvalidConfiguration;
  return simulator::launch({grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                           {&simulator::bound<P...>::enter, &packed, sizeof(packed)})
             ? cudaSuccess
             : cudaErrorInvalidConfiguration;
}
inline cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t = nullptr) {
  return simulator::clear(data, value, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

// ---- barriers, shuffles, votes. Each names the line of the kernel that calls it.

#define SPECVERIFY_SHIM_HERE \
  simulator::place at = { __builtin_FILE(), static_cast<unsigned>(__builtin_LINE()) }

inline void __syncthreads(SPECVERIFY_SHIM_HERE) {
  (void)simulator::arrive(simulator::operation::barrier, 0, 0, 0, at);
}
inline int __syncthreads_and(int predicate, SPECVERIFY_SHIM_HERE) {
  return static_cast<int>(simulator::arrive(simulator::operation::barrier_and, 0, predicate != 0, 0, at));
}
inline int __syncthreads_or(int predicate, SPECVERIFY_SHIM_HERE) {
  return static_cast<int>(simulator::arrive(simulator::operation::barrier_or, 0, predicate != 0, 0, at));
}
inline int __syncthreads_count(int predicate, SPECVERIFY_SHIM_HERE) {
  return static_cast<int>(simulator::arrive(simulator::operation::barrier_count, 0, predicate != 0, 0, at));
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, SPECVERIFY_SHIM_HERE) {
  (void)simulator::arrive(simulator::operation::warp_barrier, mask, 0, 0, at);
}

namespace simulator {

template <class T>
std::uint64_t to_word(T value) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) >= 4 && sizeof(T) <= 8, "as CUDA's own shuffles");
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T>
T shuffle(std::uint32_t mask, T value, unsigned source, const place& at) {
  const std::uint64_t word = arrive(operation::shuffle, mask, to_word(value), source, at);
  T result;
  std::memcpy(&result, &word, sizeof(T));
  return result;
}

}  // namespace simulator

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, SPECVERIFY_SHIM_HERE) {
  const unsigned part = static_cast<unsigned>(width), first = simulator::lane() & ~(part - 1);
  return simulator::shuffle(mask, value, first + (static_cast<unsigned>(source) & (part - 1)), at);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, SPECVERIFY_SHIM_HERE) {
  const unsigned self = simulator::lane(), inside = self & (static_cast<unsigned>(width) - 1);
  return simulator::shuffle(mask, value, by > inside ? self : self - by, at);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, SPECVERIFY_SHIM_HERE) {
  const unsigned self = simulator::lane(), inside = self & (static_cast<unsigned>(width) - 1);
  return simulator::shuffle(mask, value, inside + by < static_cast<unsigned>(width) ? self + by : self, at);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, SPECVERIFY_SHIM_HERE) {
  const unsigned self = simulator::lane(), part = static_cast<unsigned>(width);
  const unsigned other = self ^ static_cast<unsigned>(with);
  return simulator::shuffle(mask, value, (other & ~(part - 1)) <= (self & ~(part - 1)) ? other : self, at);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, SPECVERIFY_SHIM_HERE) {
  return static_cast<unsigned>(simulator::arrive(simulator::operation::ballot, mask, predicate != 0, 0, at));
}
inline int __any_sync(unsigned mask, int predicate, SPECVERIFY_SHIM_HERE) {
  return simulator::arrive(simulator::operation::ballot, mask, predicate != 0, 0, at) != 0;
}
inline int __all_sync(unsigned mask, int predicate, SPECVERIFY_SHIM_HERE) {
  return simulator::arrive(simulator::operation::ballot, mask, predicate != 0, 0, at) == mask;
}
#define SPECVERIFY_SHIM_REDUCE(name, type, what)                                                            \
  inline type name(unsigned mask, type value, SPECVERIFY_SHIM_HERE) {                                       \
    return static_cast<type>(                                                                               \
        simulator::arrive(simulator::operation::what, mask, static_cast<std::uint32_t>(value), 0, at));     \
  }
SPECVERIFY_SHIM_REDUCE(__reduce_add_sync, unsigned, add)
SPECVERIFY_SHIM_REDUCE(__reduce_add_sync, int, add)
SPECVERIFY_SHIM_REDUCE(__reduce_min_sync, unsigned, least)
SPECVERIFY_SHIM_REDUCE(__reduce_min_sync, int, least_signed)
SPECVERIFY_SHIM_REDUCE(__reduce_max_sync, unsigned, most)
SPECVERIFY_SHIM_REDUCE(__reduce_max_sync, int, most_signed)
SPECVERIFY_SHIM_REDUCE(__reduce_and_sync, unsigned, bits_and)
SPECVERIFY_SHIM_REDUCE(__reduce_or_sync, unsigned, bits_or)
SPECVERIFY_SHIM_REDUCE(__reduce_xor_sync, unsigned, bits_xor)
#undef SPECVERIFY_SHIM_REDUCE

inline void __threadfence() { simulator::fence(); }

// ---- atomics: whole, since a fibre gives way at rendezvous only

#define SPECVERIFY_SHIM_ATOMIC(name, next)                                                             \
  template <class T, class U>                                                                          \
  __attribute__((noinline, no_sanitize("thread"))) T name(T* data, U given) {                          \
    simulator::touch_atomic(data, sizeof(T), __builtin_return_address(0));                             \
    const T old = *data, value = static_cast<T>(given);                                                \
    *data = next;                                                                                      \
    return old;                                                                                        \
  }
SPECVERIFY_SHIM_ATOMIC(atomicAdd, static_cast<T>(old + value))
SPECVERIFY_SHIM_ATOMIC(atomicMax, old < value ? value : old)
SPECVERIFY_SHIM_ATOMIC(atomicMin, value < old ? value : old)
SPECVERIFY_SHIM_ATOMIC(atomicOr, static_cast<T>(old | value))
SPECVERIFY_SHIM_ATOMIC(atomicAnd, static_cast<T>(old & value))
SPECVERIFY_SHIM_ATOMIC(atomicExch, value)
SPECVERIFY_SHIM_ATOMIC(atomicInc, old >= value ? T{0} : static_cast<T>(old + 1))
#undef SPECVERIFY_SHIM_ATOMIC
#undef SPECVERIFY_SHIM_HERE

// ---- loads and numbers

template <class T>
inline __attribute__((always_inline)) T __ldg(const T* data) {
  if (sizeof(T) > 4) simulator::check_aligned(data, alignof(T), nullptr);
  return *data;
}
template <class T>
inline __attribute__((always_inline)) T __ldcg(const T* data) {
  return *data;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }

#endif
