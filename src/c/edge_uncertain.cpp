// SPDX-License-Identifier: Apache-2.0
// u-hlm, cu-hlm.
#include "edge_of.hpp"

namespace specverify_c {

sv::result<specverify_edge*> make_uncertain_edge(const edge_order& order) noexcept {
  return place_edge(order, uncertain_system(order.kind, order.system));
}

}  // namespace specverify_c
