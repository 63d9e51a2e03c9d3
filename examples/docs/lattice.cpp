// SPDX-License-Identifier: Apache-2.0
// The lattice point of a whole row, from the two times l largest entries that a reading gathered.
#include <specverify/quantize/lattice.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 6> law{0.02, 0.4, 0.03, 0.4, 0.05, 0.1};
  const std::uint32_t resolution = 2;
  const top_k largest{lattice_support_size(6, resolution), true};
  const read_request wanted = largest.request({}, 6);
  std::vector<std::byte> memory(digest_workspace_size(6, {}, wanted)),
      more(largest.workspace_size({}, 6) + lattice::workspace_size(4));
  workspace space{memory}, scratch{more};
  std::array<std::uint32_t, 4> counts{};
  const auto row = read_row(exec::seq, probability_row<double>(law), {}, wanted, space);
  if (!row) return 1;
  const auto kept = largest.select(*row, {}, scratch);
  if (!kept) return 2;
  if (!lattice{}.quantize(*kept, resolution, counts, scratch).ok()) return 3;
  // Kept are 1, 3, 4 and 5; every other token has no count.
  return counts == std::array<std::uint32_t, 4>{1, 1, 0, 0} ? 0 : 4;
}
