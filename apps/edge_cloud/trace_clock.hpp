// SPDX-License-Identifier: Apache-2.0
//! Which step of a channel trace holds at a time. The steady clock is the machine's own: all processes of a run that
//! are told the same origin agree.
#ifndef EDGE_CLOUD_TRACE_CLOCK_HPP
#define EDGE_CLOUD_TRACE_CLOCK_HPP

#include <chrono>
#include <cmath>
#include <cstdint>

namespace edge_cloud {

using time_point = std::chrono::steady_clock::time_point;

struct trace_clock {
  double state_seconds = 1;               //!< how long a state holds, > 0
  std::uint64_t origin_microseconds = 0;  //!< when the first one begins; it holds before, too

  [[nodiscard]] std::uint64_t step(time_point now) const {
    return now <= origin() ? 0 : static_cast<std::uint64_t>((now - origin()) / state_time());
  }
  [[nodiscard]] time_point begin_of(std::uint64_t step) const {
    return origin() + static_cast<time_point::rep>(step) * state_time();
  }
  [[nodiscard]] time_point end_of(std::uint64_t step) const { return begin_of(step + 1); }

 private:
  [[nodiscard]] time_point origin() const { return time_point(std::chrono::microseconds(origin_microseconds)); }
  [[nodiscard]] time_point::duration state_time() const {
    return std::chrono::nanoseconds(std::llround(state_seconds * 1e9));
  }
};

}  // namespace edge_cloud

#endif
