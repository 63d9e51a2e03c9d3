// SPDX-License-Identifier: Apache-2.0
//! Calls the baseline object only: on an old processor nothing of the other object may be reached.
#include <cstdio>

unsigned long long baseline_object();
unsigned long long v3_object();

int main(int count, char**) {
  const unsigned long long sum = baseline_object();
  std::printf("baseline object: %llx\n", sum);
  return count > 1 && v3_object() != sum ? 1 : 0;
}
