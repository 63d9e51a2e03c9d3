// SPDX-License-Identifier: Apache-2.0
// Two machines with one key compute the same times.
#include <specverify/core/noise.hpp>

int main() {
  using namespace specverify;
  const coupling_noise device{noise_kind::philox, 0x5eed}, cloud = device;
  for (token_id id = 0; id < 1000; ++id) {
    const double time = device.time(7, id);  // position 7
    if (time != cloud.time(7, id)) return 1;
    if (time <= 0 || time > 46) return 2;
  }
  return device.time(7, 3) != device.time(8, 3) ? 0 : 3;  // another position has other noise
}
