// SPDX-License-Identifier: Apache-2.0
// log p of one token.
#include <specverify/row/log_probability.hpp>

#include <array>
#include <cmath>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 3> logits{1.0f, 1.0f, 1.0f};
  const auto row = logits_row(std::span<const float>(logits));
  std::vector<std::byte> memory(digest_workspace_size(3, {}, {}));
  workspace space{std::span(memory)};
  row_digest digested;
  if (!digest(exec::simd, row, {}, {}, space, digested).ok()) return 1;
  double result = 0;
  if (!log_probability(exec::simd, row, {}, digested, space, 2, result).ok()) return 2;
  return std::fabs(result + std::log(3.0)) < 1e-14 ? 0 : 3;
}
