// SPDX-License-Identifier: Apache-2.0
// Two drafts by a race over the same noise, verified against the target's rows.
#include <specverify/verify/coupled.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<std::array<float, 4>, 3> logits{{{1, 2, 0, 3}, {0, 4, 1, 1}, {2, 2, 2, 2}}};
  std::array<row_view<float>, 3> rows;
  for (std::size_t i = 0; i < 3; ++i) rows[i] = logits_row<float>(logits[i]);
  const std::array<row_transform, 1> transform{};
  std::vector<std::byte> memory(coupled_workspace_size(4, transform[0]));
  workspace scratch{std::span(memory)};
  const coupling_noise noise{noise_kind::philox, 0x5eed};

  std::array<claimed_draft, 2> drafts;  // a drafter with the target's own rows, at positions 20 and 21
  for (std::uint32_t i = 0; i < 2; ++i) {
    const workspace_scope scope(scratch);
    drafts[i].token = *read_row(exec::simd, rows[i], transform[0], race_request(4), scratch)->race(noise, 20 + i);
  }
  const auto made =
      coupled_rule{noise}.verify(exec::simd, std::span<const claimed_draft>(drafts),
                                 row_span_provider<float>(rows, transform), uniforms<>{philox{}, 20, 0}, {}, scratch);
  return made && made->accepted == 2 && made->commit_length == 3 ? 0 : 1;
}
