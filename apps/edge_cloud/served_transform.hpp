// SPDX-License-Identifier: Apache-2.0
//! Checks that a cloud serves the transform that an edge requests, because two transforms would give two distributions.
#ifndef EDGE_CLOUD_SERVED_TRANSFORM_HPP
#define EDGE_CLOUD_SERVED_TRANSFORM_HPP

#include <specverify/row/transform.hpp>

namespace edge_cloud {

//! Compares the requested transform with the cloud's transform. Errors: invalid_temperature, invalid_truncation (they
//! differ).
[[nodiscard]] inline specverify::status check_served(const specverify::row_transform& asked,
                                                     const specverify::row_transform& served) {
  using specverify::errc;
  const specverify::row_truncation &a = asked.truncation, &b = served.truncation;
  const bool alike = a.top_k == b.top_k && a.top_p == b.top_p && a.min_p == b.min_p;
  if (asked.temperature != served.temperature) return {errc::invalid_temperature, specverify::part::host, 0};
  if (!alike || (a.active() && a.order != b.order)) return {errc::invalid_truncation, specverify::part::host, 0};
  return {};
}

}  // namespace edge_cloud

#endif
