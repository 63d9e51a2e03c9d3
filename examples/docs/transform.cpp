// SPDX-License-Identifier: Apache-2.0
// One value says how logits become a law: bias, mask, temperature, truncation.
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 6> logits{1.0f, 2.0f, 0.5f, 4.0f, 2.0f, 0.0f};
  const std::array<token_id, 2> ids{0, 4};
  const std::array<float, 2> bias{1.5f, -0.25f};
  const std::array<std::uint64_t, 1> allowed{0b110111};  // token 3 is not
  row_transform transform;
  transform.temperature = 0.7;
  transform.bias_ids = ids;
  transform.bias_values = bias;
  transform.mask_words = allowed;
  transform.truncation.top_k = 2;
  const read_request all{.survivors = 6};
  std::vector<std::byte> memory(digest_workspace_size(6, transform, all));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, logits_row<float>(logits), transform, all, scratch);
  if (!row) return 1;
  const auto kept = row->survivor_ids();  // 0 at 2.5 and 1 at 2.0
  return row->argmax() == 0 && kept.size() == 2 && kept[0] == 0 && kept[1] == 1 ? 0 : 2;
}
