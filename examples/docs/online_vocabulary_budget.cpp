// SPDX-License-Identifier: Apache-2.0
// How many tokens CU-HLM online sends with a drawn one: more when the drafter is less sure.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 8> law{0.5, 0.2, 0.1, 0.06, 0.04, 0.04, 0.03, 0.03};
  const row_transform as_it_is{};
  const online_vocabulary_budget sparsifier{{.distortion = 0.8}};
  const read_request wanted = sparsifier.request({}, 8);
  std::vector<std::byte> memory(digest_workspace_size(8, as_it_is, wanted)), more(2 * sparsifier.workspace_size({}, 8));
  workspace space{memory}, scratch{more};
  const auto row = read_row(exec::seq, probability_row<double>(law), as_it_is, wanted, space);
  if (!row) return 1;
  const auto sure = sparsifier.select_with_token(*row, {.token = 0, .disagreements = 2, .samples = 20}, scratch);
  if (!sure) return 2;
  const auto unsure = sparsifier.select_with_token(*row, {.token = 0, .disagreements = 20, .samples = 20}, scratch);
  if (!unsure) return 3;
  return sure->size() < unsure->size() ? 0 : 4;
}
