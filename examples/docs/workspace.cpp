// SPDX-License-Identifier: Apache-2.0
// Scratch from the caller, cut into aligned arrays and given back.
#include <specverify/core/workspace.hpp>

#include <array>

int main() {
  using namespace specverify;
  std::array<std::byte, slice_bytes<double>(10) + workspace_alignment> memory;
  workspace space{memory};
  const std::size_t mark = space.mark();
  const auto numbers = space.take<double>(10);
  if (!numbers) return 1;
  if (space.take<double>(10)) return 2;  // does not fit; nothing is taken
  numbers->back() = 1.5;
  const double last = (*numbers)[9];
  space.rewind(mark);
  return last == 1.5 && space.used() == 0 ? 0 : 3;
}
