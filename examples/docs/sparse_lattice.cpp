// SPDX-License-Identifier: Apache-2.0
// Counts that sum to 100 for a support of four tokens.
#include <specverify/quantize/sparse_lattice.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 4> ids{12, 40, 41, 977};
  const std::array<std::uint32_t, 4> weights{8000, 4000, 3000, 1};
  const support kept{ids, weights, 16000, 1000};  // the row weighs 16000; the lattice looks at the support alone
  std::array<std::uint32_t, 4> counts{};
  std::array<std::byte, sparse_lattice::workspace_size(4)> memory{};
  workspace scratch{memory};
  if (!sparse_lattice{}.quantize(kept, 100, counts, scratch).ok()) return 1;
  return counts == std::array<std::uint32_t, 4>{53, 27, 20, 0} ? 0 : 2;
}
