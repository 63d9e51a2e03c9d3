// SPDX-License-Identifier: Apache-2.0
// A law as fp16 values, in integers: count = 2^24 * fp16(p).
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 3> law{0.5, 0.25, 0.25};
  std::vector<std::byte> memory(digest_workspace_size(3, {}, {}));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, probability_row<double>(law), {}, {}, scratch);
  if (!row) return 1;
  std::array<token_id, 3> ids{};
  std::array<std::uint32_t, 3> counts{};
  const auto made = row->fp16_counts(ids, counts);
  if (!made || made->size != 3 || made->resolution != 16777216u || counts[0] != 8388608u) return 2;
  if (half_of_count(counts[0]).bits != 0x3800) return 3;          // the fp16 of 1/2
  return half_count(1.0 / 3) == count_of_half({0x3555}) ? 0 : 4;  // the fp16 nearest to 1/3
}
