// SPDX-License-Identifier: Apache-2.0
// Sessions whose window is planned anew each round: QS by a model or a network, SQS under a budget of bits.
#include "edge_session_of.hpp"

namespace edge_cloud {

std::unique_ptr<edge_session> make_windowed_session(const specverify::edge_options& options, const wire_plan& plan) {
  if (plan.support && std::holds_alternative<specverify::conformal>(*plan.support)) {
    return session_of(options, std::optional(std::get<specverify::conformal>(*plan.support)),
                      std::get<specverify::bit_budget_window>(plan.window));
  }
  const std::optional<specverify::top_k> largest = largest_of(plan);
  if (const auto* budget = std::get_if<specverify::bit_budget_window>(&plan.window))
    return session_of(options, largest, *budget);
  if (const auto* network = std::get_if<specverify::dqn_window>(&plan.window))
    return session_of(options, largest, *network);
  return session_of(options, largest, std::get<specverify::model_window>(plan.window));
}

}  // namespace edge_cloud
