// SPDX-License-Identifier: Apache-2.0
// Top-K and threshold from one digest.
#include <specverify/row/select.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 5> law{0.1, 0.4, 0.05, 0.4, 0.05};
  digest_request request;
  request.survivors = 3;
  request.minimum_probability = 0.2;
  std::vector<std::byte> memory(digest_workspace_size(5, {}, request));
  workspace space{std::span(memory)};
  row_digest digested;
  if (!digest(exec::simd, probability_row(std::span<const double>(law)), {}, request, space, digested).ok()) return 1;
  selection chosen;
  // tie: the smaller id
  if (!select_top_k(exec::simd, digested, space, 1, chosen).ok() || chosen.ids[0] != 1) return 2;
  if (!select_top_k(exec::simd, digested, space, 3, chosen).ok() || chosen.ids[0] != 0 || chosen.ids[2] != 3) return 3;
  if (!select_threshold(exec::simd, digested, space, 0.2, chosen).ok() || chosen.ids.size() != 2) return 4;
  return select_top_k(exec::simd, digested, space, 4, chosen).code == errc::digest_insufficient ? 0 : 5;
}
