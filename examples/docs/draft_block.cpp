// SPDX-License-Identifier: Apache-2.0
// The drafts of a round with copies of their laws.
#include <specverify/distribution/draft_block.hpp>
#include <specverify/distribution/make_law.hpp>

#include <array>

int main() {
  using namespace specverify;
  auto made = draft_block::make({.max_draft_length = 4, .max_entries = 64});
  if (!made.ok()) return 1;
  draft_block& block = made.value();
  std::array<token_id, 2> ids{3, 8};
  std::array<std::uint32_t, 2> counts{30, 70};
  for (std::uint32_t position = 0; position < 4; ++position) {
    counts[0] = 30 + position;  // the same arrays serve every position: push copies
    const auto q = make_law(ids, counts, 10);
    if (!q) return 2;
    if (!block.push(draw(*q, uniforms{philox{}, position, 0}.at(purpose::draft_draw))).ok()) return 3;
  }
  block.truncate(2);
  return block.size() == 2 && block[0].source_law().count(3) == 30 && block[1].source_law().count(3) == 31 ? 0 : 4;
}
