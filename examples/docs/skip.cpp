// SPDX-License-Identifier: Apache-2.0
// U-HLM: the edge keeps the tokens that it is sure of and uploads the others.
#include <specverify/core/random.hpp>
#include <specverify/policy/skip.hpp>

#include <vector>

int main() {
  using namespace specverify;
  const uncertainty_gate gate{0.8, {20, 2.0}};
  std::vector<std::byte> memory(skip_workspace_size<uncertainty_gate>(500));
  workspace scratch{std::span<std::byte>(memory)};
  std::vector<float> row(500, 0.0f);
  const auto sends = [&](float height) {
    row[9] = height;
    skip_observation seen;
    const auto view = logits_row(std::span<const float>(row));
    const status why = observe_skip(exec::simd, gate, view, {}, 9, {}, philox{{1, 2}}, 0, 1, scratch, seen);
    return why.ok() && gate.send(seen);
  };
  if (gate.strength != guarantee::lossy || always_send::strength != guarantee::unconditional) return 1;
  return !sends(15.0f) && sends(0.5f) ? 0 : 2;
}
