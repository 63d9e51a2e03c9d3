// SPDX-License-Identifier: Apache-2.0
//! One path through the library, compiled once for each instruction set under another name (OBJECT_NAME).
#include <specverify/core/random.hpp>
#include <specverify/core/status.hpp>

#ifdef PLANTED
// What the library never does: a function that all objects share, whatever they were compiled for.
__attribute__((noinline)) inline float planted_sum(const float* values, int size) {
  float sum[8] = {};
  for (int i = 0; i < size; ++i) {
    for (int lane = 0; lane < 8; ++lane) sum[lane] = sum[lane] * values[i] + static_cast<float>(lane);
  }
  return sum[0] + sum[7];
}
#endif

unsigned long long OBJECT_NAME() {
  unsigned long long sum = 0;
  const specverify::philox source{{{7, 9}}};
  for (std::uint32_t position = 0; position < 100; ++position) sum += specverify::uniform_integer(source, {position, 0, 0, specverify::purpose::draft_draw, 0}, 1000);
#ifdef PLANTED
  const float values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  sum += static_cast<unsigned long long>(planted_sum(values, 16));
#endif
  return sum;
}
