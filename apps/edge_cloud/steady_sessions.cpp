// SPDX-License-Identifier: Apache-2.0
// Sessions that draft alike in every round and send every token: HLM, QS, SQS, greedy and WISV, CU-HLM without
// skipping.
#include "edge_session_of.hpp"

namespace edge_cloud {

std::unique_ptr<edge_session> make_steady_session(const specverify::edge_options& options, const wire_plan& plan) {
  const auto& window = std::get<specverify::fixed_window>(plan.window);
  if (!plan.support) return session_of(options, largest_of(plan), window);
  return std::visit([&](const auto& support) { return session_of(options, std::optional(support), window); },
                    *plan.support);
}

}  // namespace edge_cloud
