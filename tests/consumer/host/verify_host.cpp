// SPDX-License-Identifier: Apache-2.0
//! A plain engine: it owns rows of logits and drafted ids, includes verify/ and nothing else of the library, and
//! commits a verdict.
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/token.hpp>

#include <cstdio>

#if SPECVERIFY_WITH_XSIMD
#error "this engine has no xsimd"
#endif

namespace {

constexpr std::uint32_t vocab_size = 1000;
constexpr std::uint32_t draft_length = 3;
float logits[draft_length + 1][vocab_size];

struct engine_rows {
  specverify::row_transform with{};
  specverify::row_view<float> operator()(std::uint32_t index) const noexcept {
    return {specverify::row_kind::logits, logits[index], vocab_size};
  }
  const specverify::row_transform& transform(std::uint32_t) const noexcept { return with; }
  std::uint32_t size() const noexcept { return draft_length + 1; }
};

alignas(64) std::byte scratch_bytes[1 << 20];

}  // namespace

int main() {
  // The engine is sure of token 7 i at row i; the third draft is another one.
  for (std::uint32_t i = 0; i <= draft_length; ++i) logits[i][7 * i] = 60.0f;
  const specverify::claimed_draft drafts[draft_length] = {{0}, {7}, {13}};
  engine_rows rows;
  if (specverify::verify_workspace_size(vocab_size, rows.with, draft_length) > sizeof scratch_bytes) return 2;
  specverify::workspace scratch{std::span<std::byte>(scratch_bytes)};
  const specverify::uniforms random{specverify::philox{{{1, 2}}}, 0, 0};
  const std::span<const specverify::claimed_draft> drafted(drafts);
  const auto sampled = specverify::token_rule{}.verify(specverify::exec::simd, drafted, rows, random, {}, scratch);
  rows.with.temperature = 0;
  const auto greedy = specverify::greedy_rule{}.verify(specverify::exec::seq, drafted, rows, random, {}, scratch);
  for (const auto& said : {sampled, greedy}) {
    if (!said) return 1;
    std::printf("accepted %u, then %d\n", static_cast<unsigned>(said->accepted), static_cast<int>(said->next_token));
    if (said->accepted != 2 || said->next_token != 14 || said->commit_length != 3) return 1;
  }
  return 0;
}
