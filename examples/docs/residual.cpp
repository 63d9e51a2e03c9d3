// SPDX-License-Identifier: Apache-2.0
// The token after a rejection, from norm((p - q)+).
#include <specverify/distribution/law.hpp>
#include <specverify/row/residual.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 3> target{0.5, 0.25, 0.25};
  const auto row = probability_row(std::span<const double>(target));
  std::vector<std::byte> memory(digest_workspace_size(3, {}, {}));
  workspace space{std::span(memory)};
  row_digest digested;
  if (!digest(exec::simd, row, {}, {}, space, digested).ok()) return 1;
  const std::array<token_id, 2> ids{0, 1};
  const std::array<std::uint32_t, 2> counts{50, 50};
  const law drafted{ids.data(), counts.data(), 2, 0, 100, 3};  // q = (1/2, 1/2, 0): only token 2 has p > q
  for (std::uint32_t position = 0; position < 100; ++position) {
    residual_token next;
    const random_counter counter{position, 0, 0, purpose::residual_draw, 0};
    if (!residual(exec::simd, row, {}, digested, space, drafted, 1.0, philox{{3, 4}}, counter, {}, next).ok()) return 2;
    if (next.token != 2 || next.fallback) return 3;
  }
  return 0;
}
