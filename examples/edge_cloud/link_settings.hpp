// SPDX-License-Identifier: Apache-2.0
//! What the emulated link is like, and what it has carried.
#ifndef EDGE_CLOUD_LINK_SETTINGS_HPP
#define EDGE_CLOUD_LINK_SETTINGS_HPP

#include <cstdint>

namespace edge_cloud {

struct link_settings {
  double uplink_bits_per_second = 350e3;
  double downlink_bits_per_second = 4e6;
  double round_trip_ms = 50;  //!< half of it each way, on top of the time that the bits take
  double jitter_ms = 0;       //!< each frame waits up to this much longer, uniformly; frames do not overtake
  double loss = 0;            //!< probability that a frame takes its time on the link and never arrives
  std::uint64_t seed = 1;     //!< of jitter and loss
};

//! One direction.
struct lane_settings {
  double bits_per_second = 1e6;
  double delay_ms = 25;
  double jitter_ms = 0;
  double loss = 0;
};

struct lane_counters {
  std::uint64_t frames = 0;  //!< entered the link, lost ones included
  std::uint64_t bytes = 0;   //!< of these frames, length prefix included
  std::uint64_t lost = 0;    //!< frames that never arrived
};

[[nodiscard]] inline lane_settings uplink(const link_settings& link) noexcept {
  return {link.uplink_bits_per_second, link.round_trip_ms / 2, link.jitter_ms, link.loss};
}
[[nodiscard]] inline lane_settings downlink(const link_settings& link) noexcept {
  return {link.downlink_bits_per_second, link.round_trip_ms / 2, link.jitter_ms, link.loss};
}

}  // namespace edge_cloud

#endif
