// SPDX-License-Identifier: Apache-2.0
//! Computes when a frame that is sent now arrives at the other end of one direction of the link, or whether it is lost.
//! The computation needs no timer and no socket. It keeps the time until which the link is busy, so the rate is exact
//! even if a timer fires late.
#ifndef EDGE_CLOUD_LINK_LANE_HPP
#define EDGE_CLOUD_LINK_LANE_HPP

#include <specverify/core/random.hpp>

#include "link_settings.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace edge_cloud {

struct passage {
  bool lost = false;
  time_point arrival{};  //!< arrival of the last bit
};

class link_lane {
 public:
  //! `number` identifies the lane, so that two lanes of a link with the same seed get different random numbers.
  link_lane(lane_settings settings, std::uint64_t seed, std::uint32_t number)
      : settings_(std::move(settings)),
        chance_{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}},
        number_(number) {}

  //! Sets the time at which the first step of the trace begins, in microseconds of the steady clock.
  void begin_trace(std::uint64_t origin) noexcept { settings_.clock.origin_microseconds = origin; }

  //! Returns the time at which the last bit leaves, if the first bit enters an idle link at `from`. Each bit is sent at
  //! the rate of the state at its time.
  [[nodiscard]] time_point carried(time_point from, double bits) const {
    if (settings_.trace.empty()) return from + seconds(bits / settings_.bits_per_second);
    for (;;) {
      const double rate = at(from).bits_per_second;
      const time_point end = settings_.clock.end_of(settings_.clock.step(from)), done = from + seconds(bits / rate);
      if (done <= end) return done;
      bits = std::max(0.0, bits - rate * std::chrono::duration<double>(end - from).count());
      from = end;
    }
  }

  //! Sends a frame at `now`. The state of the link at the time when the last bit leaves determines the delay and the
  //! probability of loss.
  [[nodiscard]] passage send(time_point now, std::uint64_t bytes) {
    free_at_ = carried(std::max(free_at_, now), static_cast<double>(bytes) * 8);
    const lane_state there = at(free_at_);
    const auto block =
        chance_({static_cast<std::uint32_t>(counters_.frames), 0, number_, specverify::purpose::channel});
    const bool lost = specverify::decision_uniform(block, 0) < there.loss;
    const double jitter_ms = specverify::decision_uniform(block, 1) * settings_.jitter_ms;
    last_arrival_ = std::max(last_arrival_, free_at_ + seconds((there.delay_ms + jitter_ms) * 1e-3));
    counters_.frames += 1;
    counters_.bytes += bytes;
    counters_.lost += lost ? 1 : 0;
    return {lost, last_arrival_};
  }

  [[nodiscard]] const lane_counters& counters() const noexcept { return counters_; }

 private:
  static time_point::duration seconds(double value) {
    return std::chrono::duration_cast<time_point::duration>(std::chrono::duration<double>(value));
  }

  [[nodiscard]] lane_state at(time_point now) const {
    if (settings_.trace.empty()) return {settings_.bits_per_second, settings_.delay_ms, settings_.loss};
    return settings_.trace[settings_.clock.step(now) % settings_.trace.size()];
  }

  lane_settings settings_;
  specverify::philox chance_;
  std::uint32_t number_;
  time_point free_at_{};
  time_point last_arrival_{};
  lane_counters counters_;
};

}  // namespace edge_cloud

#endif
