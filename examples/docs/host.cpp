// SPDX-License-Identifier: Apache-2.0
// generate and serve; neither model can be cut back, so they are fed again.
#include <random>
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>
#include <thread>
using namespace specverify;

struct recurrent_model {  // logits follow from the last token; position 0 begins anew
  std::vector<token_id> last;
  std::array<float, 8> logits{};
  status feed(std::uint32_t, std::span<const token_id> tokens, std::uint32_t rows) {
    return last.assign(tokens.end() - rows, tokens.end()), status{};
  }
  row_view<float> row(std::uint32_t i) {
    for (int v = 0; float& logit : logits) logit = static_cast<float>((5 * v++ + last[i]) % 8);
    return logits_row<float>(logits);
  }
};

int main() {
  std::random_device random;
  auto edge = make_edge({.secret = secret_from(random), .vocab_size = 8, .token_budget = 20}, top_k{3});
  auto cloud = make_cloud({.secret = secret_from(random), .salt = salt_from(random), .vocab_size = 8});
  recurrent_model one, other;
  auto drafter = rewinding<recurrent_model>::make(one, 32), target = rewinding<recurrent_model>::make(other, 32);
  message_pipe pipe;
  const std::jthread server([&, down = pipe.cloud()]() mutable { (void)serve(*cloud, *target, down); });
  auto up = pipe.edge();  // declared last, so it closes before `server` is joined
  const auto text = generate(*edge, std::array<token_id, 1>{0}, *drafter, up);
  return text && text->size() == 20 ? 0 : 2;
}
