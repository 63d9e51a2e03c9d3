// SPDX-License-Identifier: Apache-2.0
// Is a fourth draft worth its time? Expected tokens of a round, from the acceptance probability of a law.
#include <specverify/distribution/law.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/verify/expected_length.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<double, 4> target{0.5, 0.25, 0.25, 0.0};
  const std::array<token_id, 2> ids{0, 1};
  const std::array<std::uint32_t, 2> counts{3, 1};
  const law drafter{ids.data(), counts.data(), 2, 0, 4, 4};  // 3/4, 1/4
  const read_request exact{.exact_normaliser = true};
  std::vector<std::byte> memory(digest_workspace_size(4, {}, exact));
  workspace scratch{std::span<std::byte>(memory)};
  const auto row = read_row(exec::seq, probability_row<double>(target), {}, exact, scratch);
  if (!row) return 1;
  const auto acceptance = row->acceptance_probability(drafter);
  if (!acceptance) return 2;
  if (*acceptance < 0.75 - 1e-12 || *acceptance > 0.75 + 1e-12) return 3;  // min(.5, .75) + min(.25, .25)
  const double gain = expected_tokens(*acceptance, 4) - expected_tokens(*acceptance, 3);
  return gain > 0.31 && gain < 0.32 ? 0 : 4;  // .75^4
}
