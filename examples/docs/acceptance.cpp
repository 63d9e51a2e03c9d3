// SPDX-License-Identifier: Apache-2.0
// Accept a drafted token: uniform * count / resolution < p(token).
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 3> target{0.5, 0.25, 0.25};
  const auto target_row = probability_row(std::span<const double>(target));
  std::vector<std::byte> memory(digest_workspace_size(3, {}, {}));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, target_row, {}, {}, scratch);
  if (!row) return 1;
  // The drafter gave token 1 a count of 50 in 100: accept with probability 1/2.
  const drafted_token likely{0, 50, 100}, drafted{1, 50, 100}, foreign{7, 50, 100};
  const auto below = row->accept(drafted, 0.49), at = row->accept(drafted, 0.50);
  if (!below || !below->accepted) return 2;
  if (!at || at->accepted || !at->near_tie) return 3;
  const auto certain = row->accept(likely, uniforms<>{}.at(purpose::acceptance));  // p >= q, whatever the uniform
  if (!certain || !certain->accepted) return 4;
  return row->accept(foreign, 0.5).error().code == errc::token_out_of_range ? 0 : 5;
}
