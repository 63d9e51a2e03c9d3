// SPDX-License-Identifier: Apache-2.0
// A law in integers: the same bits on every machine.
#include <specverify/row/integer_weights.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<float, 4> logits{0.0f, -1.0f, -10.0f, -1000.0f};
  std::array<std::uint32_t, 4> weights{};
  const auto total = integer_weights(exec::simd, logits_row<float>(logits), {}, weights);
  if (!total) return 1;
  // 2^31 e^-1 = 790015084.4
  if (weights != std::array<std::uint32_t, 4>{2147483648u, 790015088u, 97496u, 0u}) return 2;
  return *total == 2937596232u ? 0 : 3;
}
