// SPDX-License-Identifier: Apache-2.0
// What a sparsifier kept, and how much of the row that is.
#include <specverify/distribution/support.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 2> ids{2, 5};
  const std::array<std::uint32_t, 2> weights{600, 300};
  const support kept{ids, weights, 1000, 8};
  if (!check(kept).ok() || retained_weight(kept) != 900) return 1;
  return retained_mass(kept) == 0.9 && check(support{ids, weights, 1000, 5}).code == errc::token_out_of_range ? 0 : 2;
}
