// SPDX-License-Identifier: Apache-2.0
// log p of one token.
#include <specverify/row/reading.hpp>

#include <array>
#include <cmath>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 3> logits{1.0f, 1.0f, 1.0f};
  std::vector<std::byte> memory(digest_workspace_size(3, {}, {}));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, logits_row<float>(logits), {}, {}, scratch);
  if (!row) return 1;
  const auto found = row->log_probability(2);
  return found && std::fabs(*found + std::log(3.0)) < 1e-14 ? 0 : 2;
}
