// SPDX-License-Identifier: Apache-2.0
// The greedy token of a row, with a bias and a mask.
#include <specverify/row/argmax.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<float, 4> logits{1.0f, 3.0f, 2.0f, 3.0f};
  const auto row = logits_row(std::span<const float>(logits));
  const auto best = argmax(exec::simd, row, {});
  if (!best || best->token != 1 || !best->near_tie) return 1;  // tie: the smaller id

  const std::array<token_id, 1> ids{3};
  const std::array<float, 1> bias{0.5f};
  const std::array<std::uint64_t, 1> allowed{0b1101};
  row_transform transform;
  transform.bias_ids = ids;
  transform.bias_values = bias;
  transform.mask_words = allowed;
  const auto other = argmax(exec::simd, row, transform);
  if (!other || other->token != 3) return 2;
  return other->margin == 1.5 ? 0 : 3;  // 3.5 against 2, since token 1 is masked
}
