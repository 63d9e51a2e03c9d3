// SPDX-License-Identifier: Apache-2.0
#include "edge_session_of.hpp"

namespace edge_cloud {

std::unique_ptr<edge_session> make_edge_session(const specverify::edge_options& options, const wire_plan& plan) {
  if (plan.gate) return make_gated_session(options, plan);
  if (std::holds_alternative<specverify::fixed_window>(plan.window)) return make_steady_session(options, plan);
  return make_windowed_session(options, plan);
}

}  // namespace edge_cloud
