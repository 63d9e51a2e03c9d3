// SPDX-License-Identifier: Apache-2.0
// The three most probable tokens of a row of logits.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 6> logits{0.5f, 3.0f, -1.0f, 2.0f, 2.0f, 2.0f};
  const row_transform at_temperature_1{};
  const top_k sparsifier{3};
  const read_request wanted = sparsifier.request(sparsifier.initial_state(), 6);
  std::vector<std::byte> memory(digest_workspace_size(6, at_temperature_1, wanted)),
      more(sparsifier.workspace_size({}, 6));
  workspace space{memory}, scratch{more};
  const auto row = read_row(exec::seq, logits_row<float>(logits), at_temperature_1, wanted, space);
  if (!row) return 1;
  const auto kept = sparsifier.select(*row, {}, scratch);
  if (!kept) return 2;
  // Ids 3, 4 and 5 tie; the smaller ids stay.
  return kept->size() == 3 && kept->ids[0] == 1 && kept->ids[1] == 3 && kept->ids[2] == 4 ? 0 : 3;
}
