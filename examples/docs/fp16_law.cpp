// SPDX-License-Identifier: Apache-2.0
// A whole row in half precision, as an integer law.
#include <specverify/distribution/fp16_law.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 4> logits{3.0f, 1.0f, 0.0f, -2.0f};
  std::vector<std::byte> memory(digest_workspace_size(4, {}, {}) + fp16_law_workspace_size(4));
  workspace space{memory};
  const auto row = read_row(exec::seq, logits_row<float>(logits), {}, {}, space);
  if (!row) return 1;
  const auto made = fp16_law(*row, space);
  if (!made) return 2;
  const double first = static_cast<double>(made->count(0)) / made->resolution;
  return check(*made).ok() && first > 0.838 && first < 0.840 ? 0 : 3;
}
