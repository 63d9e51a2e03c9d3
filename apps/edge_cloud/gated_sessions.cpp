// SPDX-License-Identifier: Apache-2.0
// Sessions whose edge commits some tokens alone: HLM's relatives and UI.
#include "edge_session_of.hpp"

namespace edge_cloud {

std::unique_ptr<edge_session> make_gated_session(const specverify::edge_options& options, const wire_plan& plan) {
  const auto& window = std::get<specverify::fixed_window>(plan.window);
  if (plan.support && std::holds_alternative<specverify::online_vocabulary_budget>(*plan.support)) {
    return session_of(options, std::optional(std::get<specverify::online_vocabulary_budget>(*plan.support)), window,
                      std::get<specverify::uncertainty_gate>(*plan.gate));
  }
  const std::optional<specverify::top_k> largest = largest_of(plan);
  return std::visit([&](const auto& gate) { return session_of(options, largest, window, gate); }, *plan.gate);
}

}  // namespace edge_cloud
