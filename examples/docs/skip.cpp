// SPDX-License-Identifier: Apache-2.0
// U-HLM: the edge keeps the tokens that it is sure of and uploads the others.
#include <specverify/core/random.hpp>
#include <specverify/policy/skip.hpp>

#include <vector>

int main() {
  using namespace specverify;
  const uncertainty_gate gate{0.8, {20, 2.0}};
  std::vector<std::byte> memory(digest_workspace_size(500, {}, {}) + skip_workspace_size<uncertainty_gate>(500));
  std::vector<float> row(500, 0.0f);
  const auto sends = [&](float height) {
    row[9] = height;
    workspace scratch{std::span<std::byte>(memory)};
    const auto reading = read_row(exec::simd, logits_row(std::span<const float>(row)), {}, {}, scratch);
    if (!reading) return false;
    const auto seen = observe_skip(*reading, gate, 9, {}, uniforms{philox{{1, 2}}, 0, 1}, scratch);
    return seen && gate.send(*seen);
  };
  if (gate.strength != guarantee::lossy || always_send::strength != guarantee::unconditional) return 1;
  return !sends(15.0f) && sends(0.5f) ? 0 : 2;
}
