// SPDX-License-Identifier: Apache-2.0
// Accept a drafted token: uniform * count / resolution < p(token).
#include <specverify/row/acceptance.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 3> target{0.5, 0.25, 0.25};
  const auto row = probability_row(std::span<const double>(target));
  std::vector<std::byte> memory(digest_workspace_size(3, {}, {}));
  workspace space{std::span(memory)};
  row_digest digested;
  if (!digest(exec::simd, row, {}, {}, space, digested).ok()) return 1;
  acceptance answer;  // the drafter gave token 1 a count of 50 in 100: accept with probability 1/2
  if (!accept_token(exec::simd, row, {}, digested, space, 1, 50, 100, 0.49, answer).ok() || !answer.accepted) return 2;
  if (!accept_token(exec::simd, row, {}, digested, space, 1, 50, 100, 0.50, answer).ok() || answer.accepted ||
      !answer.near_tie)
    return 3;
  // p >= q
  if (!accept_token(exec::simd, row, {}, digested, space, 0, 50, 100, 0.99, answer).ok() || !answer.accepted) return 4;
  return accept_token(exec::simd, row, {}, digested, space, 7, 50, 100, 0.5, answer).code == errc::token_out_of_range
             ? 0
             : 5;
}
