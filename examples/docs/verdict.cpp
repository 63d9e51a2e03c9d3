// SPDX-License-Identifier: Apache-2.0
// From a verdict to committed text: the first `accepted` drafts, then the next token if there is one. Nothing else.
#include <specverify/verify/greedy.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 3> a{0, 5, 1}, b{4, 0, 1}, c{0, 1, 9};
  const std::array<row_view<float>, 3> logits{logits_row<float>(a), logits_row<float>(b), logits_row<float>(c)};
  const std::array<row_transform, 1> transform{};
  const std::array<claimed_draft, 2> drafts{{{1}, {0}}};
  const std::array<token_id, 1> stops{0};
  verify_request request;
  request.stop_tokens = stops;
  workspace none;
  const auto said = greedy_rule{}.verify(exec::seq, std::span<const claimed_draft>(drafts),
                                         row_span_provider<float>(logits, transform), uniforms<>{}, request, none);
  if (!said) return 1;  // said.error().where would name the row
  std::vector<token_id> text;
  for (std::uint32_t i = 0; i < said->accepted; ++i) text.push_back(drafts[i].token);
  if (said->next_token != no_token) text.push_back(said->next_token);
  // Draft 0 ends the text, so no bonus token was drawn behind it.
  return text == std::vector<token_id>{1, 0} && said->stop == stop_reason::stop_token &&
                 text.size() == said->commit_length
             ? 0
             : 2;
}
