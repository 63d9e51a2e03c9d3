// SPDX-License-Identifier: Apache-2.0
//! What the library never does: a function that all objects share, whatever they were compiled for.
__attribute__((noinline)) inline float planted_sum(const float* values, int size) {
  float sum[8] = {};
  for (int i = 0; i < size; ++i) {
    for (int lane = 0; lane < 8; ++lane) sum[lane] = sum[lane] * values[i] + static_cast<float>(lane);
  }
  return sum[0] + sum[7];
}

unsigned long long OBJECT_NAME() {
  const float values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  return static_cast<unsigned long long>(planted_sum(values, 16));
}
