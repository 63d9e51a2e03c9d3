// SPDX-License-Identifier: Apache-2.0
// The tokens within one standard deviation of the largest logit: the same ones at any temperature.
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/top_n_sigma.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 6> logits{9, 8, 2, 1, 0, -2};
  const top_n_sigma sparsifier;
  const read_request wanted = sparsifier.request({}, 6);
  for (const double temperature : {0.5, 1.0, 4.0}) {
    const row_transform transform{.temperature = temperature};
    std::vector<std::byte> memory(digest_workspace_size(6, transform, wanted)), more(sparsifier.workspace_size({}, 6));
    workspace space{memory}, scratch{more};
    const auto row = read_row(exec::simd, logits_row<float>(logits), transform, wanted, space);
    if (!row) return 1;
    const auto kept = sparsifier.select(*row, {}, scratch);
    if (!kept) return 2;
    if (kept->size() != 2 || kept->ids[0] != 0 || kept->ids[1] != 1) return 3;
  }
  return 0;
}
