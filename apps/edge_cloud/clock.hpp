// SPDX-License-Identifier: Apache-2.0
//! Converts the steady clock to microseconds for sessions. Sessions have no clock, so hosts must pass them the time.
#ifndef EDGE_CLOUD_CLOCK_HPP
#define EDGE_CLOUD_CLOCK_HPP

#include <chrono>
#include <cstdint>

namespace edge_cloud {

[[nodiscard]] inline std::uint64_t microseconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}
//! Returns the time of the steady clock in microseconds, for all sessions of a process.
struct session_clock {
  [[nodiscard]] std::uint64_t now() const { return microseconds_now(); }
};
//! Returns the point in time of a session's microseconds, for timers.
[[nodiscard]] inline std::chrono::steady_clock::time_point at_microseconds(std::uint64_t microseconds) {
  return std::chrono::steady_clock::time_point(std::chrono::microseconds(microseconds));
}

}  // namespace edge_cloud

#endif
