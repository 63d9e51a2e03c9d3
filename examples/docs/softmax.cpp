// SPDX-License-Identifier: Apache-2.0
// Probabilities of a row at temperature 1/2; a forbidden token gets 0 exactly.
#include <specverify/row/softmax.hpp>

#include <array>
#include <cmath>

int main() {
  using namespace specverify;
  const std::array<float, 3> logits{0.0f, 0.5f, 9.0f};
  const std::array<std::uint64_t, 1> allowed{0b011};
  row_transform transform;
  transform.temperature = 0.5;
  transform.mask_words = allowed;
  std::array<double, 3> law{};
  if (!softmax(exec::simd, logits_row(std::span<const float>(logits)), transform, std::span<double>(law)).ok())
    return 1;
  if (law[2] != 0.0) return 2;
  return std::fabs(law[1] / law[0] - std::exp(1.0)) < 1e-12 ? 0 : 3;
}
