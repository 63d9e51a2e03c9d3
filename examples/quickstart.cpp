// SPDX-License-Identifier: Apache-2.0
// A lossless edge-cloud session without a network: a small model drafts, bytes travel, a larger model verifies, both
// commit.
#include <specverify/all.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace specverify;
constexpr std::uint32_t vocab_size = 1000, window = 4;

// Two toy models: logits are a function of the last token; the small model sees the large one's through noise.
std::vector<float> logits_after(token_id last, double noise) {
  std::vector<float> row;
  for (std::uint32_t v = 0; v < vocab_size; ++v) {
    const random_block bits = philox{}({v, static_cast<std::uint32_t>(last), 0, purpose::training, 0});
    row.push_back(static_cast<float>(-3 * std::log(1 - decision_uniform(bits, 0)) + noise * decision_uniform(bits, 1)));
  }
  return row;
}

int main() {
  const session_keys keys = derive_session_keys(42, 1);
  const draft_format format{.vocab_size = vocab_size, .resolution = 100, .max_draft_length = window};
  const row_transform transform{.temperature = 0.8};
  std::vector<std::byte> memory(1 << 16), message(max_draft_bytes(format, window));
  auto drafts = draft_block::make({window, max_draft_entries(format, window)});
  auto received = received_draft_block::make({window, max_draft_entries(format, window)});
  std::vector<token_id> text{1};
  for (std::uint32_t round = 0; text.size() < 40; ++round) {
    const auto base = static_cast<std::uint32_t>(text.size());
    const wire_context context{.session_id = 1, .round = round, .base_length = base};
    drafts.value().clear();  // edge: row -> 16 tokens -> counts -> token, four times
    for (token_id last = text.back(); drafts.value().size() < window;) {
      const std::vector<float> row = logits_after(last, 2.0);
      workspace space{memory};
      draft_law q;
      if (!make_draft_law(exec::simd, logits_row<float>(row), transform, top_k{16}, {}, sparse_lattice{}, {}, space, q)
               .ok())
        return 1;
      const draft drawn =
          draw(q.drafted, philox{keys.draft}, {base + drafts.value().size(), round, 0, purpose::draft_draw, 0});
      if (!drafts.value().push(drawn).ok()) return 2;
      last = drawn.token();
    }
    std::size_t size = 0;
    if (!encode_draft(context, format, drafts.value().drafts(), message, size).ok()) return 3;
    workspace space{memory};  // cloud: bytes -> drafts with their laws -> verdict
    if (!decode_draft(context, format, std::span(message).first(size), space, received.value()).ok()) return 4;
    std::vector<std::vector<float>> logits{logits_after(text.back(), 0)};
    for (const received_draft& drafted : received.value().drafts()) logits.push_back(logits_after(drafted.token(), 0));
    std::vector<row_view<float>> rows;
    for (const std::vector<float>& row : logits) rows.push_back(logits_row<float>(row));
    const verdict v =
        token_rule{}.verify(exec::simd, received.value().drafts(), row_span_provider<float>{rows, {&transform, 1}},
                            philox{keys.verdict}, {base, round}, space);
    if (!v.state.ok()) return 5;
    std::printf("round %2u, %3zu bytes up, %u of %u accepted:", round, size, v.accepted, window);
    for (std::uint32_t i = 0; i < v.accepted; ++i) text.push_back(received.value()[i].token());
    text.push_back(v.next_token);  // the large model's own token: a correction, or a bonus after four accepted ones
    for (std::size_t i = base; i < text.size(); ++i) std::printf(i + 1 < text.size() ? " %d" : " [%d]\n", text[i]);
  }
}
