// SPDX-License-Identifier: Apache-2.0
// Tokens without a count leave the law before it travels; the law stays the same.
#include <specverify/distribution/make_law.hpp>
#include <specverify/quantize/drop_zero.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 4> ids{12, 40, 41, 977};
  const std::array<std::uint32_t, 4> counts{53, 0, 47, 0};
  std::array<std::byte, drop_zero_workspace_size(4)> memory{};
  workspace scratch{memory};
  const auto whole = make_law(ids, counts, 1000);
  if (!whole) return 1;
  const auto compact = drop_zero(*whole, scratch);
  if (!compact || compact->size != 2 || compact->resolution != 100) return 2;
  return compact->count(41) == 47 && compact->count(40) == 0 ? 0 : 3;
}
