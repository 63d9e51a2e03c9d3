// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/level.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace specverify;

namespace {
struct calls {
  int (*answer)();
};
int answer() { return 42; }
}  // namespace

#define SPECVERIFY_THIS_LEVEL baseline
SPECVERIFY_LEVEL_TABLE(calls, level_test) = {answer};
SPECVERIFY_LEVEL_TABLES(calls, level_test);

TEST_CASE("PKG-5 level: what the processor says, as the compiler's run-time library reads it") {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  const bool ifma = avx512 && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi") &&
                    __builtin_cpu_supports("avx512vbmi2");
  // A virtual machine may hide LZCNT, MOVBE or F16C, which the library asks for too.
  CHECK((avx2 || cpu_level() < vector_level::avx2));
  CHECK((avx512 || cpu_level() < vector_level::avx512));
  CHECK((ifma || cpu_level() < vector_level::avx512_ifma));
  if (cpu_level() >= vector_level::avx2) {
    CHECK((cpu_level() >= vector_level::avx512) == avx512);
    CHECK((cpu_level() >= vector_level::avx512_ifma) == ifma);
  }
#else
  CHECK(cpu_level() == vector_level::baseline);
#endif
}

TEST_CASE("PKG-5 level: a unit runs on the processor it was compiled for") {
#if defined(__AVX512VBMI2__) && defined(__AVX512IFMA__)
  CHECK(cpu_level() == vector_level::avx512_ifma);
#elif defined(__AVX512VL__)
  CHECK(cpu_level() >= vector_level::avx512);
#elif defined(__AVX2__)
  CHECK(cpu_level() >= vector_level::avx2);
#else
  CHECK(cpu_level() >= vector_level::baseline);
#endif
}

TEST_CASE("PKG-5 level: every level has a name, and the table of a unit of one level answers for all") {
  CHECK(name(vector_level::baseline) == std::string("baseline"));
  CHECK(name(vector_level::avx2) == std::string("AVX2"));
  CHECK(name(vector_level::avx512) == std::string("AVX-512"));
  CHECK(name(vector_level::avx512_ifma) == std::string("AVX-512 IFMA"));
  CHECK(level_test_at(cpu_level()).answer() == 42);
}
