// SPDX-License-Identifier: Apache-2.0
// Scratch from the caller, cut into aligned arrays and given back.
#include <specverify/core/workspace.hpp>

#include <array>

int main() {
  using namespace specverify;
  std::array<std::byte, slice_bytes<double>(10) + workspace_alignment> memory;
  workspace space{memory};
  const std::size_t mark = space.mark();
  workspace_slice numbers, more;
  if (!space.take<double>(10, numbers)) return 1;
  if (space.take<double>(10, more)) return 2;  // does not fit; nothing is taken
  space.at<double>(numbers)[9] = 1.5;
  const double last = space.at<double>(numbers)[9];
  space.rewind(mark);
  return last == 1.5 && space.used() == 0 ? 0 : 3;
}
