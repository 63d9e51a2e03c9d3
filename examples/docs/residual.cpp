// SPDX-License-Identifier: Apache-2.0
// The token after a rejection, from norm((p - q)+).
#include <specverify/distribution/law.hpp>
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 3> target{0.5, 0.25, 0.25};
  std::vector<std::byte> memory(digest_workspace_size(3, {}, {}));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, probability_row<double>(target), {}, {}, scratch);
  if (!row) return 1;
  const std::array<token_id, 2> ids{0, 1};
  const std::array<std::uint32_t, 2> counts{50, 50};
  const law drafted{ids.data(), counts.data(), 2, 0, 100, 3};  // q = (1/2, 1/2, 0): only token 2 has p > q
  for (std::uint32_t position = 0; position < 100; ++position) {
    const uniforms random{philox{{3, 4}}, position, 0};
    const auto next = row->residual(drafted, random.at(purpose::residual_draw));
    if (!next || next->token != 2 || next->fallback) return 2;
  }
  return 0;
}
