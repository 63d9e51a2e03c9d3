// SPDX-License-Identifier: Apache-2.0
// Would draws at five temperatures repeat the most likely token? The reading answers all five draws; the probabilities
// take a read each.
#include <specverify/row/tempered.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 4> logits{0.0f, 1.0f, 2.0f, -1.0f};
  read_request wanted;
  wanted.survivors = 256;  // at most; here all four
  std::vector<std::byte> memory(digest_workspace_size(4, {}, wanted));
  workspace scratch{std::span<std::byte>(memory)};
  const auto row = read_row(exec::simd, logits_row<float>(logits), {}, wanted, scratch);
  if (!row) return 1;
  const std::array<double, 5> temperatures{0.0, 0.5, 1.0, 1.5, 2.0}, drawn{0.9, 0.8, 0.7, 0.3, 0.4};
  std::array<double, 5> probability{};
  if (!tempered_probabilities(*row, 2, temperatures, probability)) return 2;
  unsigned expected = 0;
  for (std::size_t m = 0; m < 5; ++m) expected += drawn[m] < probability[m] ? 1u : 0u;
  const auto found = tempered_draws(*row, 2, temperatures, drawn);
  if (!found || found->hits != expected || found->hits != 4) return 3;
  std::array<probability_bounds, 5> room{};  // the probabilities once more, a thousandth wide on average
  const auto near = tempered_bounds(*row, 2, temperatures, 1e-3, room);
  if (!near) return 4;
  for (std::size_t m = 0; m < 5; ++m) {
    if (probability[m] < near->bounds[m].lower || probability[m] > near->bounds[m].upper) return 5;
  }
  return 0;
}
