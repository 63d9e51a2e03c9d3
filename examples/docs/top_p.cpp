// SPDX-License-Identifier: Apache-2.0
// The fewest tokens that hold 80 % of the mass.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/top_p.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 5> law{0.05, 0.3, 0.5, 0.12, 0.03};
  const row_transform as_it_is{};
  const top_p sparsifier{0.8 - 1e-6};
  const read_request wanted = sparsifier.request(sparsifier.initial_state(), 5);
  std::vector<std::byte> memory(digest_workspace_size(5, as_it_is, wanted)), more(sparsifier.workspace_size({}, 5));
  workspace space{memory}, scratch{more};
  const auto row = read_row(exec::seq, probability_row<double>(law), as_it_is, wanted, space);
  if (!row) return 1;
  const auto kept = sparsifier.select(*row, {}, scratch);
  if (!kept) return 2;
  return kept->size() == 2 && kept->ids[0] == 1 && kept->ids[1] == 2 ? 0 : 3;
}
