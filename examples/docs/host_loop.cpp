// SPDX-License-Identifier: Apache-2.0
// A loop for both sides. A real observer also appends journal records to a file and shows committed tokens.
#include <random>
#include <specverify/all.hpp>
using namespace specverify;
auto work(auto& session, auto& engine, auto& sent) {
  for (;;) {
    const session_work work = take_outputs(session, [&](const session_output& out) {
      if (out.action == session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::rollback) engine.truncate(out.position);
    });
    if (work.wait != session_wait::rows) return work;  // a message is awaited, or time; or the session is over
    const bool fed = engine.feed(work.asked.position, work.asked.tokens, work.asked.rows).ok();
    (void)(fed ? supply(session, engine, 0) : session.engine_failed({}));
  }
}
struct constant_model {  // yours: an engine with a cache
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  row_view<float> row(std::uint32_t) { return logits_row<float>(logits); }
  void truncate(std::uint32_t) {}
  std::array<float, 4> logits{0.0f, 1.0f, 2.0f, 0.5f};
} drafter, target;
int main() {
  std::random_device random;
  auto edge = make_edge({.secret = secret_from(random), .vocab_size = 4, .token_budget = 10}, top_k{3});
  auto cloud = make_cloud({.secret = secret_from(random), .salt = salt_from(random), .vocab_size = 4});
  std::vector<std::vector<std::byte>> up, down;  // in order, and none is lost
  (void)edge->start(std::array<token_id, 1>{0}, 0);
  for ((void)work(*edge, drafter, up); !up.empty();) {
    for (auto& message : std::exchange(up, {})) (void)deliver(*cloud, message, 0), (void)work(*cloud, target, down);
    for (auto& message : std::exchange(down, {})) (void)deliver(*edge, message, 0), (void)work(*edge, drafter, up);
  }
  return edge->state() == edge_state::finished && edge->length() == 11 ? 0 : 2;
}
