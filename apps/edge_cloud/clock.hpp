// SPDX-License-Identifier: Apache-2.0
//! Reads the steady clock in microseconds. Sessions have no clock, so hosts must pass the time to them.
#ifndef EDGE_CLOUD_CLOCK_HPP
#define EDGE_CLOUD_CLOCK_HPP

#include <chrono>
#include <cstdint>

namespace edge_cloud {

[[nodiscard]] inline std::uint64_t microseconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}
//! A clock for `drive` and other hosts' loops: the steady clock in microseconds.
struct session_clock {
  [[nodiscard]] std::uint64_t now() const { return microseconds_now(); }
};
//! Converts a session's time in microseconds to a time point, for timers.
[[nodiscard]] inline std::chrono::steady_clock::time_point at_microseconds(std::uint64_t microseconds) {
  return std::chrono::steady_clock::time_point(std::chrono::microseconds(microseconds));
}

}  // namespace edge_cloud

#endif
