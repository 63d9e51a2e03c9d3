// SPDX-License-Identifier: Apache-2.0
// The fewest tokens with which a compressed upload stays within 0.05 of the target's law, whatever the target is.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 8> law{0.5, 0.2, 0.1, 0.06, 0.04, 0.04, 0.03, 0.03};
  const row_transform as_it_is{};
  const vocabulary_budget sparsifier{0.05};
  const read_request wanted = sparsifier.request({}, 8);
  std::vector<std::byte> memory(digest_workspace_size(8, as_it_is, wanted)), more(sparsifier.workspace_size({}, 8));
  workspace space{memory}, scratch{more};
  const auto row = read_row(exec::seq, probability_row<double>(law), as_it_is, wanted, space);
  if (!row) return 1;
  const auto kept = sparsifier.select(*row, {}, scratch);
  if (!kept || kept->size() != 3) return 2;
  scratch.rewind(0);
  const auto profile = make_tail_profile(*row, scratch);
  if (!profile) return 3;
  return profile->distortion(3) <= 0.05 && profile->distortion(2) > 0.05 ? 0 : 4;
}
