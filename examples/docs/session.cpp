// SPDX-License-Identifier: Apache-2.0
// One session in one process: messages are handed over.
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <array>

int main() {
  using namespace specverify;
  // the same law at every position
  const std::array<float, 4> drafter{0.0f, 1.0f, 2.0f, 0.5f}, target{0.5f, 1.0f, 1.5f, 1.0f};
  const edge_options device{.format = {law_format::sparse_drop_zero, 4, 20, 0, 2, 1}, .token_budget = 10};
  const cloud_options server{.largest = device.format};
  auto edge = edge_session::make(device, top_k{3}, fixed_window{{2, 20, 3}});
  auto cloud = cloud_session::make(server);
  if (!edge.ok() || !cloud.ok() || !edge.value().start(std::array<token_id, 1>{0}, 0).ok()) return 1;
  const std::array<row_transform, 1> transforms{};
  const std::array<row_view<float>, 3> rows{logits_row<float>(target), logits_row<float>(target),
                                            logits_row<float>(target)};
  while (edge.value().state() != edge_state::finished) {
    session_output out = edge.value().next();
    if (out.action == session_action::send) (void)cloud.value().receive(out.bytes, 0);
    if (out.action == session_action::evaluate)
      (void)edge.value().supply_row(exec::seq, logits_row<float>(drafter), {}, 0);
    while (out = cloud.value().next(), out.action != session_action::none) {
      if (out.action == session_action::send) (void)edge.value().receive(out.bytes, 0);
      if (out.action == session_action::evaluate)
        (void)cloud.value().supply_rows(exec::seq,
                                        row_span_provider<float>(std::span(rows).first(out.rows), transforms), 0);
    }
  }
  return edge.value().length() == 11 && cloud.value().length() == 11 ? 0 : 2;
}
