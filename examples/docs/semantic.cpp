// SPDX-License-Identifier: Apache-2.0
// Semantic verification in two steps: compare with the target's argmax, score the mismatches somewhere else, decide.
#include <specverify/verify/semantic.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<float, 3> a{0, 5, 1}, b{4, 0, 3}, c{0, 1, 9};
  const std::array<row_view<float>, 3> logits{logits_row<float>(a), logits_row<float>(b), logits_row<float>(c)};
  const std::array<row_transform, 1> transform{};
  const std::array<claimed_draft, 2> block{{{1}, {2}}};  // the target would say 1 and 0
  const std::span<const claimed_draft> drafts(block);
  std::array<token_id, 3> best{};
  std::array<std::uint64_t, 1> mismatches{};
  const greedy_comparison compared{.best = best, .mismatches = mismatches};
  if (!compare_greedily(exec::simd, drafts, row_span_provider<float>(logits, transform), {}, compared).ok()) return 1;
  auto said = decide_semantically(drafts, compared, {}, 0.5, {});
  if (!said || said->outcome != verdict_outcome::needs || said->accepted != 1) return 2;  // draft 1 waits for its score
  const std::array<double, 1> harmless{0.2};
  said = decide_semantically(drafts, compared, harmless, 0.5, {});
  return said && said->accepted == 2 && said->next_token == 2 && said->counters.accepted_mismatches == 1 ? 0 : 3;
}
