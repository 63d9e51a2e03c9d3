// SPDX-License-Identifier: Apache-2.0
// A token from the law of a row: the same counter gives the same token.
#include <specverify/core/random.hpp>
#include <specverify/row/sample.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 4> logits{0.0f, 1.0f, 2.0f, -1.0f};
  const auto row = logits_row(std::span<const float>(logits));
  std::vector<std::byte> memory(digest_workspace_size(4, {}, {}));
  workspace space{std::span(memory)};
  row_digest digested;
  if (!digest(exec::simd, row, {}, {}, space, digested).ok()) return 1;
  const philox source{{1, 2}};
  int twos = 0;
  for (std::uint32_t position = 0; position < 1000; ++position) {
    sampled_token first, again;
    const random_counter counter{position, 0, 0, purpose::draft_draw, 0};
    if (!sample(exec::simd, row, {}, digested, space, source, counter, {}, first).ok()) return 2;
    if (!sample(exec::seq, row, {}, digested, space, source, counter, {}, again).ok() || again.token != first.token)
      return 3;
    twos += first.token == 2 ? 1 : 0;
  }
  return twos > 580 && twos < 710 ? 0 : 4;  // p(2) = 0.644
}
