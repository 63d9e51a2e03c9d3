// SPDX-License-Identifier: Apache-2.0
// One read of a row, and what it leaves behind.
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 5> logits{0.0f, 2.0f, 1.0f, -1.0f, 2.0f};
  read_request request;
  request.survivors = 2;
  request.exact_normaliser = true;
  std::vector<std::byte> memory(digest_workspace_size(5, {}, request));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, logits_row<float>(logits), {}, request, scratch);
  if (!row) return 1;
  if (row->argmax() != 1 || row->maximum() != 2.0) return 2;
  const auto ids = row->survivor_ids();  // ascending, ties to the smaller id
  if (ids.size() != 2 || ids[0] != 1 || ids[1] != 4) return 3;
  return row->used_exact_normaliser() && !row->survivors_complete() ? 0 : 4;
}
