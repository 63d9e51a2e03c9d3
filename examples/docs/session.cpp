// SPDX-License-Identifier: Apache-2.0
// One session in one process: both sides are driven, messages are handed over.
#include <random>
#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
using namespace specverify;
struct constant_model {  // the same law at every position
  std::array<float, 4> logits;
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  row_view<float> row(std::uint32_t) { return logits_row<float>(logits); }
  void truncate(std::uint32_t) {}
};
int main() {
  constant_model drafter{{0.0f, 1.0f, 2.0f, 0.5f}}, target{{0.5f, 1.0f, 1.5f, 1.0f}};
  std::random_device random;
  auto edge = make_edge({.secret = secret_from(random), .vocab_size = 4, .token_budget = 10}, top_k{3});
  auto cloud = make_cloud({.secret = secret_from(random), .salt = salt_from(random), .vocab_size = 4});
  if (!edge || !cloud || !edge->start(std::array<token_id, 1>{0}, 0).ok()) return 1;
  std::vector<std::vector<std::byte>> up, down;  // messages under way
  const auto work = [](auto& session, auto& model, auto& sent) {
    return drive(session, model, [&](const session_output& out) {
      if (out.action == session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
    });
  };
  status ok = work(*edge, drafter, up);
  while (ok.ok() && edge->state() != edge_state::finished) {
    for (const auto& message : std::exchange(up, {}))
      if (ok = deliver(*cloud, message, 0); ok.ok()) ok = work(*cloud, target, down);
    for (const auto& message : std::exchange(down, {}))
      if (ok = deliver(*edge, message, 0); ok.ok()) ok = work(*edge, drafter, up);
  }
  return ok.ok() && edge->length() == 11 && cloud->length() == 11 ? 0 : 2;
}
