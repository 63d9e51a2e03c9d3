// SPDX-License-Identifier: Apache-2.0
// compressed-hlm.
#include "edge_of.hpp"

namespace specverify_c {

sv::result<specverify_edge*> make_budget_edge(const edge_order& order) noexcept {
  return place_edge(order, budget_system(order.system));
}

}  // namespace specverify_c
