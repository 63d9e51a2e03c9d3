// SPDX-License-Identifier: Apache-2.0
// One session in one process: both sides are driven, messages are handed over.
#include <random>
#include <specverify/host/drive.hpp>
#include <specverify/policy/window.hpp>
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
  const edge_options device{.secret = secret_from(random), .vocab_size = 4, .token_budget = 10};
  auto edge = make_edge(device, top_k{3});
  auto cloud = make_cloud({.secret = secret_from(random), .salt = salt_from(random), .vocab_size = 4});
  if (!edge || !cloud || !edge->start(std::array<token_id, 1>{0}, 0).ok()) return 1;
  std::vector<std::byte> message;  // one question or one answer is under way
  const auto send = [&](const session_output& out) {
    if (out.action == session_action::send) message.assign(out.bytes.begin(), out.bytes.end());
  };
  status ok = drive(*edge, drafter, send);
  while (ok.ok() && edge->state() != edge_state::finished) {
    ok = deliver(*cloud, message, 0);
    if (ok.ok()) ok = drive(*cloud, target, send);
    if (ok.ok()) ok = deliver(*edge, message, 0);
    if (ok.ok()) ok = drive(*edge, drafter, send);
  }
  return ok.ok() && edge->length() == 11 && cloud->length() == 11 ? 0 : 2;
}
