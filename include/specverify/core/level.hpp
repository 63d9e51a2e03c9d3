// SPDX-License-Identifier: Apache-2.0
//! Selects functions by instruction set at run time, so one program can use the widest vectors of each CPU.
//!
//! Use it when you distribute binaries. Put the calls that need vectors into one source file. The CMake function
//! `specverify_levels` compiles this file once per level, which is a set of vector instructions. At startup, select the
//! table of functions for the level that `cpu_level` returns.
//! Guarantees: no allocation, noexcept. Every level gives the same tokens, verdicts and integers, except at near ties.
//!             The object files of a level define only one global symbol, the table, so the linker cannot merge the
//!             inline functions of a level with those of the baseline.
//! Cost:       O(1).
//! See:        docs/algorithms/level.md, cmake/specverify-levels.cmake, tests/unit/core/level_test.cpp,
//!             tests/consumer/levels/
#ifndef SPECVERIFY_CORE_LEVEL_HPP
#define SPECVERIFY_CORE_LEVEL_HPP

#include <specverify/config.hpp>

#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

SPECVERIFY_TYPES_BEGIN

//! Instruction sets that a translation unit can be compiled for, in ascending order.
enum class vector_level : std::uint8_t {
  baseline,    //!< every CPU of the architecture has it: SSE2, NEON
  avx2,        //!< AVX2 with FMA, BMI2 and F16C (x86-64-v3)
  avx512,      //!< F, BW, CD, DQ, VL (x86-64-v4)
  avx512_ifma  //!< and IFMA, VBMI, VBMI2: products of 52 bits for integer totals
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

[[nodiscard]] constexpr const char* name(vector_level level) noexcept {
  switch (level) {
    case vector_level::baseline:
      return "baseline";
    case vector_level::avx2:
      return "AVX2";
    case vector_level::avx512:
      return "AVX-512";
    case vector_level::avx512_ifma:
      return "AVX-512 IFMA";
  }
  return "unknown";
}

//! Returns the highest level that both the CPU and the operating system support.
[[nodiscard]] inline vector_level cpu_level() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  const auto has = [](unsigned bits, unsigned wanted) noexcept { return (bits & wanted) == wanted; };
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned fma = 1u << 12, movbe = 1u << 22, popcnt = 1u << 23, saves = 1u << 27, f16c = 1u << 29;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !has(c, fma | movbe | popcnt | saves | f16c))
    return vector_level::baseline;
  unsigned saved = 0, high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));  // registers that the operating system saves per thread
  if (!has(saved, 0x6u)) return vector_level::baseline;
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d) == 0 || !has(c, 1u << 5)) return vector_level::baseline;  // LZCNT
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return vector_level::baseline;
  constexpr unsigned bmi = 1u << 3, avx2 = 1u << 5, bmi2 = 1u << 8;
  if (!has(b, bmi | avx2 | bmi2)) return vector_level::baseline;
  constexpr unsigned f = 1u << 16, dq = 1u << 17, cd = 1u << 28, bw = 1u << 30, vl = 1u << 31;
  if (!has(b, f | dq | cd | bw | vl) || !has(saved, 0xE6u)) return vector_level::avx2;
  constexpr unsigned ifma = 1u << 21, vbmi = 1u << 1, vbmi2 = 1u << 6;
  return has(b, ifma) && has(c, vbmi | vbmi2) ? vector_level::avx512_ifma : vector_level::avx512;
#else
  return vector_level::baseline;
#endif
}

SPECVERIFY_NAMESPACE_END

// Defines the function table of a source file that is built once per level. Write `SPECVERIFY_LEVEL_TABLE(row_calls,
// rows) = {...};` with a type of function pointers and the name that was given to `specverify_levels`.
#define SPECVERIFY_LEVEL_JOIN_EXPANDED(a, b) a##_##b
#define SPECVERIFY_LEVEL_JOIN(a, b) SPECVERIFY_LEVEL_JOIN_EXPANDED(a, b)
#define SPECVERIFY_LEVEL_TABLE(type, name)                                  \
  extern "C" const type SPECVERIFY_LEVEL_JOIN(name, SPECVERIFY_THIS_LEVEL); \
  const type SPECVERIFY_LEVEL_JOIN(name, SPECVERIFY_THIS_LEVEL)

// Declares `const type& name_at(vector_level)`, which returns the table of a level. Use it in targets that link to the
// library of that name. Pass only a level that the CPU supports, for example `rows_at(cpu_level())`.
#if defined(SPECVERIFY_EVERY_LEVEL)
#define SPECVERIFY_LEVEL_TABLES(type, name)                                                    \
  extern "C" const type name##_baseline, name##_avx2, name##_avx512, name##_avx512_ifma;       \
  [[nodiscard]] static inline const type& name##_at(specverify::vector_level level) noexcept { \
    return level == specverify::vector_level::avx512_ifma ? name##_avx512_ifma                 \
           : level == specverify::vector_level::avx512    ? name##_avx512                      \
           : level == specverify::vector_level::avx2      ? name##_avx2                        \
                                                          : name##_baseline;                        \
  }                                                                                            \
  static_assert(true, "a semicolon follows")
#else
#define SPECVERIFY_LEVEL_TABLES(type, name)                                                                        \
  extern "C" const type name##_baseline;                                                                           \
  [[nodiscard]] static inline const type& name##_at(specverify::vector_level) noexcept { return name##_baseline; } \
  static_assert(true, "a semicolon follows")
#endif

#endif
