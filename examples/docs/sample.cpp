// SPDX-License-Identifier: Apache-2.0
// A token from the law of a row: the same counter gives the same token.
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 4> logits{0.0f, 1.0f, 2.0f, -1.0f};
  std::vector<std::byte> memory(2 * digest_workspace_size(4, {}, {}));
  workspace scratch{std::span(memory)};
  const auto fast = read_row(exec::simd, logits_row<float>(logits), {}, {}, scratch);
  const auto plain = read_row(exec::seq, logits_row<float>(logits), {}, {}, scratch);
  if (!fast || !plain) return 1;
  int twos = 0;
  for (std::uint32_t position = 0; position < 1000; ++position) {
    const auto stream = uniforms{philox{{1, 2}}, position, 0}.at(purpose::draft_draw);
    const auto first = fast->sample(stream), again = plain->sample(stream);
    if (!first || !again || again->token != first->token) return 2;
    twos += first->token == 2 ? 1 : 0;
  }
  return twos > 580 && twos < 710 ? 0 : 3;  // p(2) = 0.644
}
