// SPDX-License-Identifier: Apache-2.0
//! Computes the current step of a channel trace. The steady clock belongs to the machine, so all processes of a run
//! agree if they get the same origin.
#ifndef EDGE_CLOUD_TRACE_CLOCK_HPP
#define EDGE_CLOUD_TRACE_CLOCK_HPP

#include <chrono>
#include <cmath>
#include <cstdint>

namespace edge_cloud {

using time_point = std::chrono::steady_clock::time_point;

struct trace_clock {
  double state_seconds = 1;               //!< seconds per state, > 0
  std::uint64_t origin_microseconds = 0;  //!< time at which the first state begins; it also applies before this time

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
