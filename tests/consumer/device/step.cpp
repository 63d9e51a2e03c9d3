// SPDX-License-Identifier: Apache-2.0
// A host that draws with Thrust, on the serial system.
#include "one_step.cpp"

int main() {
  bfloat16_bits row[4]{{0x3F80}, {0x4120}, {0x3F80}, {0x3F80}};  // 1, 10, 1, 1
  alignas(64) static unsigned char digests[4096];
  const philox_key key{{1, 2}};
  const std::uint32_t place = 3;
  device_token token;
  device_support support;
  token_id ids[16];
  std::uint32_t weights[16];
  const step_memory memory{{digests, sizeof(digests)}, {&key, 0, &place, &place}, &token, {&support, ids, weights, 16}};
  if (run_step(thrust::device, {nullptr, 4, 1, 4}, 1.0, memory).code != errc::null_span) return 1;
  if (!run_step(thrust::device, {row, 4, 1, 4}, 0.0, memory).ok()) return 2;
  return token.token == 1 && support.size == 1 && ids[0] == 1 ? 0 : 3;
}
