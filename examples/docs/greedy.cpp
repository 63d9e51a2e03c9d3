// SPDX-License-Identifier: Apache-2.0
// Greedy verification: two of three drafts are what the target would have said, the third is corrected.
#include <specverify/verify/greedy.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<float, 3> a{0, 5, 1}, b{4, 0, 1}, c{0, 1, 9}, d{1, 0, 0};
  const std::array<row_view<float>, 4> logits{logits_row<float>(a), logits_row<float>(b), logits_row<float>(c),
                                              logits_row<float>(d)};
  const std::array<row_transform, 1> transform{};
  const std::array<claimed_draft, 3> drafts{{{1}, {0}, {1}}};
  workspace none;  // no softmax, no scratch
  const auto said = greedy_rule{}.verify(exec::simd, std::span<const claimed_draft>(drafts),
                                         row_span_provider<float>(logits, transform), uniforms<>{}, {}, none);
  if (!said || said->accepted != 2) return 1;
  return said->next_token == 2 && said->source == token_source::residual && said->commit_length == 3 ? 0 : 2;
}
