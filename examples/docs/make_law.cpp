// SPDX-License-Identifier: Apache-2.0
// Laws from counts, with a tail, and of a single token.
#include <specverify/distribution/make_law.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 2> ids{3, 8};
  const std::array<std::uint32_t, 2> counts{30, 50};
  law listed, with_tail, one_hot;
  if (!make_law(ids, counts, 10, listed).ok() || listed.resolution != 80) return 1;
  if (!make_law(ids, counts, 10, with_tail, 5).ok() || with_tail.resolution != 120 || with_tail.count(0) != 5) return 2;
  std::array<std::byte, one_hot_law_workspace_size()> memory{};
  workspace space{memory};
  if (!one_hot_law(7, 10, space, one_hot).ok() || one_hot.count(7) != one_hot.resolution) return 3;
  return make_law(ids, counts, 8, listed).code == errc::token_out_of_range ? 0 : 4;
}
