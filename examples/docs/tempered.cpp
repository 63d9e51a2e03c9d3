// SPDX-License-Identifier: Apache-2.0
// Would draws at five temperatures repeat the most likely token? One read of the row answers for all of them.
#include <specverify/row/tempered.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 4> logits{0.0f, 1.0f, 2.0f, -1.0f};
  const auto row = logits_row(std::span<const float>(logits));
  read_request wanted;
  wanted.survivors = 256;  // at most; here all four
  std::vector<std::byte> memory(digest_workspace_size(4, {}, wanted));
  workspace space{std::span<std::byte>(memory)};
  row_digest digested;
  if (!digest(exec::simd, row, {}, wanted, space, digested).ok()) return 1;
  const std::array<double, 5> temperatures{0.0, 0.5, 1.0, 1.5, 2.0}, uniforms{0.9, 0.8, 0.7, 0.3, 0.4};
  std::array<double, 5> probability{};
  if (!tempered_probabilities(exec::simd, row, {}, digested, space, 2, temperatures, std::span<double>(probability))
           .ok())
    return 2;
  unsigned expected = 0;
  for (std::size_t m = 0; m < 5; ++m) expected += uniforms[m] < probability[m] ? 1u : 0u;
  tempered_hits found;
  if (!tempered_draws(exec::simd, row, {}, digested, space, 2, temperatures, uniforms, found).ok()) return 3;
  return found.hits == expected && found.hits == 4 ? 0 : 4;
}
