// SPDX-License-Identifier: Apache-2.0
// ui.
#include "edge_of.hpp"

namespace specverify_c {

sv::result<specverify_edge*> make_important_edge(const edge_order& order) noexcept {
  return place_edge(order, important_system(order.system));
}

}  // namespace specverify_c
