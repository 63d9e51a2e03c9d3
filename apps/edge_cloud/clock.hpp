// SPDX-License-Identifier: Apache-2.0
//! Clock of this example. Sessions have no clock, so hosts pass them the time in microseconds.
#ifndef EDGE_CLOUD_CLOCK_HPP
#define EDGE_CLOUD_CLOCK_HPP

#include <chrono>
#include <cstdint>

namespace edge_cloud {

[[nodiscard]] inline std::uint64_t microseconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}
//! Clock for the sessions of a process.
struct session_clock {
  [[nodiscard]] std::uint64_t now() const { return microseconds_now(); }
};
//! The inverse, for timers.
[[nodiscard]] inline std::chrono::steady_clock::time_point at_microseconds(std::uint64_t microseconds) {
  return std::chrono::steady_clock::time_point(std::chrono::microseconds(microseconds));
}

}  // namespace edge_cloud

#endif
