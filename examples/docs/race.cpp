// SPDX-License-Identifier: Apache-2.0
// A device and a cloud draw from similar rows with the same noise.
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 6> target{1.0f, 0.5f, 2.0f, -1.0f, 1.5f, 0.0f};
  std::array<float, 6> drafter = target;
  drafter[4] += 0.25f;  // a smaller model, a little off
  std::vector<std::byte> memory(2 * digest_workspace_size(6, {}, race_request(6)));
  workspace scratch{std::span(memory)};
  const auto p = read_row(exec::simd, logits_row<float>(target), {}, race_request(6), scratch);
  const auto q = read_row(exec::simd, logits_row<float>(drafter), {}, race_request(6), scratch);
  if (!p || !q) return 1;

  int equal = 0;
  const coupling_noise noise{noise_kind::philox, 0x5eed};
  for (std::uint32_t position = 0; position < 1000; ++position)
    equal += *p->race(noise, position) == *q->race(noise, position) ? 1 : 0;
  return equal > 900 ? 0 : 2;
}
