// SPDX-License-Identifier: Apache-2.0
// 2193 bits pay for resolution 240 over 50272 tokens; 22 actions take 5 bits to name.
#include <specverify/policy/resolution.hpp>

int main() {
  using namespace specverify;
  if (resolution_for_bits(2193, 50272) != 240) return 1;
  const action_grid grid = bit_action_grid(5451, 2193, 50272);
  if (grid.size != 22 || action_bits(grid) != 5) return 2;
  return grid[1] == window_action{12, 240} ? 0 : 3;
}
