// SPDX-License-Identifier: Apache-2.0
//! Measures the minimum cost of a row on this instruction set. Plain sums with 4, 8, 12 or 16 vectors in flight give
//! the cost of reading; products and sums in registers give the cost of computing.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_FLOORS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_FLOORS_HPP

#include <array>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <utility>

namespace bench_goals {

#if defined(__AVX512F__)
inline constexpr const char* isa = "AVX-512";
using vector = float __attribute__((vector_size(64)));
#elif defined(__AVX2__)
inline constexpr const char* isa = "AVX2";
using vector = float __attribute__((vector_size(32)));
#else
inline constexpr const char* isa = "baseline";
using vector = float __attribute__((vector_size(16)));
#endif

//! Keeps a compiler from dropping a result.
template <class Value>
inline void keep(const Value& value) {
  __asm__ volatile("" : : "g"(&value) : "memory");
}

//! Returns the CPU time of this thread.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <std::size_t InFlight>
float sum_of(const float* from, std::size_t size) {
  constexpr std::size_t width = sizeof(vector) / sizeof(float);
  vector sums[InFlight] = {};
  std::size_t at = 0;
  for (; at + InFlight * width <= size; at += InFlight * width) {
    for (std::size_t i = 0; i < InFlight; ++i) {
      vector values;
      std::memcpy(&values, from + at + i * width, sizeof(values));
      sums[i] += values;
    }
  }
  for (std::size_t i = 1; i < InFlight; ++i) sums[0] += sums[i];
  float total = 0;
  for (std::size_t i = 0; i < width; ++i) total += sums[0][i];
  for (; at < size; ++at) total += from[at];
  return total;
}

using plain_sum = float (*)(const float*, std::size_t);
inline constexpr std::array<plain_sum, 4> plain_sums{sum_of<4>, sum_of<8>, sum_of<12>, sum_of<16>};

template <std::size_t... Chain>
[[gnu::noinline]] double products_of(std::index_sequence<Chain...>) {
  constexpr int times = 4096;
  vector factor = vector{} + 0.999f, summand = vector{} + 1e-3f;
  __asm__ volatile("" : "+v"(factor), "+v"(summand));
  struct one_chain {
    vector value;
  };
  one_chain chains[sizeof...(Chain)];
  ((chains[Chain].value = vector{} + static_cast<float>(Chain)), ...);
  for (int i = 0; i < times; ++i) ((chains[Chain].value = chains[Chain].value * factor + summand), ...);
  vector total = {};
  ((total += chains[Chain].value), ...);
  keep(total);
  return 2.0 * times * static_cast<double>(sizeof...(Chain) * sizeof(vector) / sizeof(float));
}

//! Computes as fast as this CPU can. Returns the number of products and sums.
inline double products() { return products_of(std::make_index_sequence < sizeof(vector) == 64 ? 20 : 12 > {}); }

}  // namespace bench_goals

#endif
