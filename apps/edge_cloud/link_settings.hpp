// SPDX-License-Identifier: Apache-2.0
//! What the emulated link is like, and what it has carried.
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
  double round_trip_ms = 50;  //!< half each way, on top of the time that the bits take
  double jitter_ms = 0;       //!< each frame waits up to this much longer, uniformly; frames do not overtake
  double loss = 0;            //!< probability that a frame takes its time on the link and never arrives
  std::uint64_t seed = 1;     //!< of jitter and loss

  //! rates, loss and round trip of its steps in turn instead, the first again after the last
  std::vector<specverify::channel_state> trace{};
  std::filesystem::path trace_file{};  //!< that it came from
  trace_clock clock{};                 //!< of the trace
};

//! One direction during one step of a trace.
struct lane_state {
  double bits_per_second = 1e6;
  double delay_ms = 25;
  double loss = 0;
};

//! One direction.
struct lane_settings {
  double bits_per_second = 1e6;
  double delay_ms = 25;
  double jitter_ms = 0;
  double loss = 0;
  std::vector<lane_state> trace{};  //!< where there is one, it has the say on rate, delay and loss
  trace_clock clock{};
};

struct lane_counters {
  std::uint64_t frames = 0;  //!< entered the link, lost ones included
  std::uint64_t bytes = 0;   //!< of these frames, length prefix included
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

//! What the link is like at a time, in the library's words. The state's number: which of QS's two (350 kbit/s and 4
//! Mbit/s, arXiv 2507.00605) the uplink is nearer to, as a ratio; 0: low. A trace may come from another model, whose
//! numbers say something else.
[[nodiscard]] inline specverify::channel_state state_at(const link_settings& link, time_point now) {
  specverify::channel_state state{
      link.uplink_bits_per_second, link.downlink_bits_per_second, link.loss, link.loss, link.round_trip_ms * 1e-3, 0};
  if (!link.trace.empty()) state = link.trace[link.clock.step(now) % link.trace.size()];
  const specverify::markov_options two = specverify::qs_paper_link();
  state.index = state.uplink_rate > std::sqrt(two.low.uplink_rate * two.high.uplink_rate) ? 1 : 0;
  return state;
}

//! When a text is opened: a trace begins with it.
[[nodiscard]] inline specverify::channel_state opening_state(const link_settings& link) {
  return state_at(link, link.clock.begin_of(0));
}

}  // namespace edge_cloud

#endif
