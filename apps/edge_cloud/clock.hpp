// SPDX-License-Identifier: Apache-2.0
//! The clock of this example: sessions have none, their hosts hand them the time in microseconds.
#ifndef EDGE_CLOUD_CLOCK_HPP
#define EDGE_CLOUD_CLOCK_HPP

#include <chrono>
#include <cstdint>

namespace edge_cloud {

[[nodiscard]] inline std::uint64_t microseconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}
//! The clock that the sessions of a process are driven with.
struct session_clock {
  [[nodiscard]] std::uint64_t now() const { return microseconds_now(); }
};
//! For timers: the inverse.
[[nodiscard]] inline std::chrono::steady_clock::time_point at_microseconds(std::uint64_t microseconds) {
  return std::chrono::steady_clock::time_point(std::chrono::microseconds(microseconds));
}

}  // namespace edge_cloud

#endif
