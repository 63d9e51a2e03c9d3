// SPDX-License-Identifier: Apache-2.0
// qs, k-sqs, hlm, greedy, wisv.
#include "edge_of.hpp"

namespace specverify_c {

sv::result<specverify_edge*> make_plain_edge(const edge_order& order) noexcept {
  return place_edge(order, plain_system(order.kind, order.system));
}

}  // namespace specverify_c
