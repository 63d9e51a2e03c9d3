// SPDX-License-Identifier: Apache-2.0
// One read of a row, and what it leaves behind.
#include <specverify/row/digest.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 5> logits{0.0f, 2.0f, 1.0f, -1.0f, 2.0f};
  read_request request;
  request.survivors = 2;
  request.exact_normaliser = true;
  std::vector<std::byte> memory(digest_workspace_size(5, {}, request));
  workspace space{std::span(memory)};
  row_digest digested;
  if (!digest(exec::simd, logits_row(std::span<const float>(logits)), {}, request, space, digested).ok()) return 1;
  if (digested.argmax != 1 || digested.maximum != 2.0) return 2;
  const auto ids = space.at<token_id>(digested.survivor_ids);  // ascending, ties to the smaller id
  if (ids.size() != 2 || ids[0] != 1 || ids[1] != 4) return 3;
  return digested.lower <= digested.normaliser && digested.normaliser <= digested.upper ? 0 : 4;
}
