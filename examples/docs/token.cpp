// SPDX-License-Identifier: Apache-2.0
// One round: a token drawn from the drafter's law, verified against the target's logits.
#include <specverify/core/secret.hpp>
#include <specverify/verify/token.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<token_id, 2> ids{1, 3};
  const std::array<std::uint32_t, 2> counts{3, 1};
  const law drafter{ids.data(), counts.data(), 2, 0, 4, 5};  // token 1 with 3/4, token 3 with 1/4
  const session_secret device = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  const session_secret cloud = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
  const std::array<draft, 1> drafts{
      draw(drafter, uniforms{philox{derive_draft_key(device, 1)}, 100, 0}.at(purpose::draft_draw))};

  const std::array<float, 5> first{0, 2, 0, 1, -1}, second{3, 0, 0, 0, 0};
  const std::array<row_view<float>, 2> logits{logits_row<float>(first), logits_row<float>(second)};
  const std::array<row_transform, 1> transform{{{.temperature = 0.8}}};
  std::vector<std::byte> memory(verify_workspace_size(5, transform[0], 1));
  workspace scratch{std::span<std::byte>(memory)};
  const auto said =
      token_rule{}.verify(exec::simd, std::span<const draft>(drafts), row_span_provider<float>(logits, transform),
                          uniforms{philox{derive_verdict_key(cloud, 1, 77)}, 100, 0}, {}, scratch);
  if (!said || said->outcome != verdict_outcome::decided) return 1;
  return said->commit_length == said->accepted + 1 && said->next_token >= 0 && said->next_token < 5 ? 0 : 2;
}
