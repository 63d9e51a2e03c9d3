// SPDX-License-Identifier: Apache-2.0
// Step 1: the logits of one position become a row. It is read once; the reading draws tokens and gives probabilities.
#include <specverify/specverify.hpp>

#include <cmath>
#include <vector>

using namespace specverify;

int main() {
  const std::vector<float> logits{0.5f, 2.0f, -1.0f, 1.5f};  // yours, from the engine
  const row_view<float> row = logits_row(logits.data(), logits.size());
  const row_transform transform{.temperature = 0.8, .truncation = {.top_p = 0.95}};

  std::vector<std::byte> memory(digest_workspace_size(4, transform, {}));  // once, for all rows
  workspace scratch{std::span(memory)};
  const auto reading = read_row(exec::simd, row, transform, {}, scratch);
  if (!reading) return 1;

  const philox source{{{0xED6E, 1}}};  // any key; a session derives its own from a secret
  const auto token = reading->sample(uniforms{source, 17, 3}.at(purpose::draft_draw));  // position 17, round 3
  const auto probability = reading->log_probability(1);
  return token && probability && std::exp(*probability) > 0.5 ? 0 : 2;
}
