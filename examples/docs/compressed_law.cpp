// SPDX-License-Identifier: Apache-2.0
// Two tokens of six are sent in 8 bits each, the others share the rest; a token is drawn from exactly that law.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 6> probabilities{0.6, 0.2, 0.08, 0.06, 0.04, 0.02};
  const row_transform as_it_is{};
  const top_k largest{2, true};
  const read_request wanted = largest.request({}, 6);
  std::vector<std::byte> memory(digest_workspace_size(6, as_it_is, wanted) + largest.workspace_size({}, 6) +
                                compressed_law_workspace_size(2));
  workspace space{memory};
  const auto row = read_row(exec::seq, probability_row<double>(probabilities), as_it_is, wanted, space);
  if (!row) return 1;
  const auto kept = largest.select(*row, {}, space);
  if (!kept) return 2;
  const auto sent = compressed_law(*kept, {.format = value_format::lattice, .resolution = 255}, space);
  if (!sent) return 3;
  if (sent->count(0) != 153 * 4 || sent->count(1) != 51 * 4 || sent->tail_count != 51 || sent->resolution != 255 * 4)
    return 4;
  const draft token = draw(*sent, uniforms{philox{{{1, 2}}}, 0, 1}.at(purpose::draft_draw));
  return token.token() >= 0 && token.token() < 6 ? 0 : 5;
}
