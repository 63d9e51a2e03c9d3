// SPDX-License-Identifier: Apache-2.0
// An engine's row of logits, as a pointer and a size; and a padded one: five stored entries, four of them tokens.
#include <specverify/core/views.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<float, 5> logits{0.1f, 2.0f, -1.0f, 0.0f, 99.0f};
  if (logits_row(logits.data(), logits.size()).valid_size() != 5) return 1;
  const row_view<float> row{row_kind::logits, logits.data(), 5, 4};
  return row.size() == 5 && row.valid_size() == 4 && row.kind() == row_kind::logits && !row.empty() ? 0 : 2;
}
