// SPDX-License-Identifier: Apache-2.0
// c-sqs.
#include "edge_of.hpp"

namespace specverify_c {

sv::result<specverify_edge*> make_conformal_edge(const edge_order& order) noexcept {
  return place_edge(order, conformal_system(order.system));
}

}  // namespace specverify_c
