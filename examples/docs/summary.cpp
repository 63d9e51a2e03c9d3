// SPDX-License-Identifier: Apache-2.0
// A rule of one's own that hangs on the total weight: it reads the row again only where bounds leave it open.
#include <specverify/row/reading.hpp>

#include <vector>

int main() {
  using namespace specverify;
  std::vector<float> logits(4096, -8.0f);
  for (std::size_t id = 0; id < 8; ++id) logits[id * 500] = 1.0f - 0.5f * static_cast<float>(id);
  const read_request wanted{.survivors = 8};
  std::vector<std::byte> memory(digest_workspace_size(4096, {}, wanted));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, logits_row<float>(logits), {}, wanted, scratch);
  if (!row) return 1;

  // How many of the largest hold a tenth of the mass each?
  const auto tenths = row->decide_by_total([&](std::uint64_t total) {
    int count = 0;
    for (const std::uint32_t weight : row->survivor_weights()) count += 10 * std::uint64_t{weight} >= total ? 1 : 0;
    return count;
  });
  const weight_bounds known = row->total_bounds();
  if (tenths != 3 || known.exact() || row->used_exact_total()) return 2;

  const std::uint64_t total = row->total_weight();  // reads the row once more
  return known.least <= total && total <= known.most && row->used_exact_total() ? 0 : 3;
}
