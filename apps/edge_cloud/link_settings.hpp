// SPDX-License-Identifier: Apache-2.0
//! Defines the settings and counters of the emulated link.
#ifndef EDGE_CLOUD_LINK_SETTINGS_HPP
#define EDGE_CLOUD_LINK_SETTINGS_HPP

#include <specverify/link/channel.hpp>

#include "trace_clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace edge_cloud {

struct link_settings {
  double uplink_bits_per_second = 350e3;
  double downlink_bits_per_second = 4e6;
  double round_trip_ms = 50;  //!< added delay, half in each direction; sending the bits takes more time
  double jitter_ms = 0;       //!< maximum random delay added to a frame (uniform); frames stay in order
  double loss = 0;            //!< probability that a frame occupies the link but never arrives
  std::uint64_t seed = 1;     //!< seed of jitter and loss

  //! states that replace rates, loss and round trip, one after another; after the last state, the first one follows
  std::vector<specverify::channel_state> trace{};
  std::filesystem::path trace_file{};  //!< file from which `trace` was read
  trace_clock clock{};                 //!< time at which each state of the trace begins
};

//! State of one direction during one step of a trace.
struct lane_state {
  double bits_per_second = 1e6;
  double delay_ms = 25;
  double loss = 0;
};

//! Settings of one direction.
struct lane_settings {
  double bits_per_second = 1e6;
  double delay_ms = 25;
  double jitter_ms = 0;
  double loss = 0;
  std::vector<lane_state> trace{};  //!< if not empty, it determines rate, delay and loss
  trace_clock clock{};
};

struct lane_counters {
  std::uint64_t frames = 0;  //!< frames that entered the link, including lost frames
  std::uint64_t bytes = 0;   //!< bytes of these frames, including length prefixes
  std::uint64_t lost = 0;    //!< frames that never arrived
};

[[nodiscard]] inline lane_settings uplink(const link_settings& link) {
  lane_settings lane{link.uplink_bits_per_second, link.round_trip_ms / 2, link.jitter_ms, link.loss, {}, link.clock};
  for (const specverify::channel_state& state : link.trace)
    lane.trace.push_back({state.uplink_rate, state.round_trip * 500, state.uplink_loss});
  return lane;
}
[[nodiscard]] inline lane_settings downlink(const link_settings& link) {
  lane_settings lane{link.downlink_bits_per_second, link.round_trip_ms / 2, link.jitter_ms, link.loss, {}, link.clock};
  for (const specverify::channel_state& state : link.trace)
    lane.trace.push_back({state.downlink_rate, state.round_trip * 500, state.downlink_loss});
  return lane;
}

//! Returns the state of the link at a time. The index is the state of QS (arXiv 2507.00605) whose rate is nearer to the
//! uplink's rate on a logarithmic scale: 0 for 350 kbit/s, 1 for 4 Mbit/s. Indexes in a trace are not used.
[[nodiscard]] inline specverify::channel_state state_at(const link_settings& link, time_point now) {
  specverify::channel_state state{
      link.uplink_bits_per_second, link.downlink_bits_per_second, link.loss, link.loss, link.round_trip_ms * 1e-3, 0};
  if (!link.trace.empty()) state = link.trace[link.clock.step(now) % link.trace.size()];
  const specverify::markov_options two = specverify::qs_paper_link();
  state.index = state.uplink_rate > std::sqrt(two.low.uplink_rate * two.high.uplink_rate) ? 1 : 0;
  return state;
}

//! Returns the state at the beginning of a text, because a trace begins with the text.
[[nodiscard]] inline specverify::channel_state opening_state(const link_settings& link) {
  return state_at(link, link.clock.begin_of(0));
}

}  // namespace edge_cloud

#endif
