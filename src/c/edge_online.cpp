// SPDX-License-Identifier: Apache-2.0
// cu-hlm-online.
#include "edge_of.hpp"

namespace specverify_c {

sv::result<specverify_edge*> make_online_edge(const edge_order& order) noexcept {
  return place_edge(order, online_system(order.system));
}

}  // namespace specverify_c
