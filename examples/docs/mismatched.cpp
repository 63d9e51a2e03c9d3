// SPDX-License-Identifier: Apache-2.0
// The lossy order: a token drawn from one law, verified against a coarser one. The text is not the target's.
#include <specverify/verify/mismatched.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<token_id, 3> ids{0, 1, 2};
  const std::array<std::uint32_t, 3> fine{5, 3, 2}, coarse{1, 1, 0};
  const law drawn_from{ids.data(), fine.data(), 3, 0, 10, 3}, told{ids.data(), coarse.data(), 3, 0, 2, 3};
  const std::array<double, 3> target{0.2, 0.3, 0.5};
  const std::array<row_view<double>, 2> rows{probability_row<double>(target), probability_row<double>(target)};
  const std::array<row_transform, 1> as_they_are{};
  std::vector<std::byte> memory(verify_workspace_size(3, as_they_are[0], 1));
  workspace scratch{memory};
  std::array<int, 3> seen{};
  for (std::uint32_t round = 0; round < 20000; ++round) {
    const draft token = draw(drawn_from, uniforms{philox{{{1, 2}}}, 0, round}.at(purpose::draft_draw));
    const std::array<mismatched_draft, 1> drafts{{{token.token(), told}}};
    const auto said = lossy_token_rule{}.verify(exec::seq, std::span<const mismatched_draft>(drafts),
                                                row_span_provider<double>(rows, as_they_are),
                                                uniforms{philox{{{3, 4}}}, 0, round}, {.remaining_budget = 1}, scratch);
    if (!said || said->commit_length != 1) return 1;
    ++seen[static_cast<std::size_t>(said->accepted == 1 ? token.token() : said->next_token)];
  }
  return seen[2] > 12000 ? 0 : 2;  // 0.62 of the tokens, where the target has 0.5
}
