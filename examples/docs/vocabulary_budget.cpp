// SPDX-License-Identifier: Apache-2.0
// The fewest tokens with which a compressed upload stays within 0.05 of the target's law, whatever the target is.
#include <specverify/row/digest.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 8> law{0.5, 0.2, 0.1, 0.06, 0.04, 0.04, 0.03, 0.03};
  const row_transform as_it_is{};
  const vocabulary_budget rule{0.05};
  const read_request wanted = rule.request({}, 8);
  std::vector<std::byte> memory(digest_workspace_size(8, as_it_is, wanted)), more(rule.workspace_size({}, 8));
  workspace space{memory}, scratch{more};
  row_digest digested;
  support kept;
  if (!digest(exec::seq, probability_row<double>(law), as_it_is, wanted, space, digested).ok()) return 1;
  if (!rule.select(digested, space, scratch, {}, kept).ok() || kept.size() != 3) return 2;
  scratch.rewind(0);
  tail_profile profile;
  if (!make_tail_profile(digested, space, scratch, profile).ok()) return 3;
  return profile.distortion(3) <= 0.05 && profile.distortion(2) > 0.05 ? 0 : 4;
}
