// SPDX-License-Identifier: Apache-2.0
// All tokens of probability 0.1 or more, and the mass that this drops.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/threshold.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 5> law{0.5, 0.3, 0.12, 0.05, 0.03};
  const row_transform as_it_is{};
  const threshold sparsifier{.minimum_probability = 0.1, .max_support_size = 4, .with_total_weight = true};
  const read_request wanted = sparsifier.request(sparsifier.initial_state(), 5);
  std::vector<std::byte> memory(digest_workspace_size(5, as_it_is, wanted)), more(sparsifier.workspace_size({}, 5));
  workspace space{memory}, scratch{more};
  const auto row = read_row(exec::seq, probability_row<double>(law), as_it_is, wanted, space);
  if (!row) return 1;
  const auto kept = sparsifier.select(*row, {}, scratch);
  if (!kept || kept->size() != 3) return 2;
  const double dropped = 1.0 - retained_mass(*kept);
  return dropped > 0.0799 && dropped < 0.0801 ? 0 : 3;
}
