// SPDX-License-Identifier: Apache-2.0
// All tokens that are at least a fifth as probable as the most probable one.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/min_p.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 5> law{0.05, 0.3, 0.5, 0.12, 0.03};
  const row_transform as_it_is{};
  const min_p sparsifier{0.2};
  const read_request wanted = sparsifier.request(sparsifier.initial_state(), 5);
  std::vector<std::byte> memory(digest_workspace_size(5, as_it_is, wanted)), more(sparsifier.workspace_size({}, 5));
  workspace space{memory}, scratch{more};
  const auto row = read_row(exec::seq, probability_row<double>(law), as_it_is, wanted, space);
  if (!row) return 1;
  const auto kept = sparsifier.select(*row, {}, scratch);
  if (!kept) return 2;
  return kept->size() == 3 && kept->ids[0] == 1 && kept->ids[2] == 3 ? 0 : 3;
}
