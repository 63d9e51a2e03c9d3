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
  workspace space{memory};
  law whole, compact;
  if (!make_law(ids, counts, 1000, whole).ok()) return 1;
  if (!drop_zero(whole, space, compact).ok()) return 2;
  return compact.size == 2 && compact.resolution == 100 && compact.count(41) == 47 && compact.count(40) == 0 ? 0 : 3;
}
