// SPDX-License-Identifier: Apache-2.0
// Laws from counts, with a tail, and of a single token.
#include <specverify/distribution/make_law.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 2> ids{3, 8};
  const std::array<std::uint32_t, 2> counts{30, 50};
  const auto listed = make_law(ids, counts, 10);
  if (!listed || listed->resolution != 80) return 1;
  const auto with_tail = make_law(ids, counts, 10, 5);
  if (!with_tail || with_tail->resolution != 120 || with_tail->count(0) != 5) return 2;
  std::array<std::byte, one_hot_law_workspace_size()> memory{};
  workspace scratch{memory};
  const auto one_hot = one_hot_law(7, 10, scratch);
  if (!one_hot || one_hot->count(7) != one_hot->resolution) return 3;
  return make_law(ids, counts, 8).error().code == errc::token_out_of_range ? 0 : 4;
}
