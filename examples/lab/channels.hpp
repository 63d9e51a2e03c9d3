// SPDX-License-Identifier: Apache-2.0
//! The library's link models as the lab's virtual clock takes them: drawn once from a seed, then a function of the round's number.
#ifndef SPECVERIFY_EXAMPLES_LAB_CHANNELS_HPP
#define SPECVERIFY_EXAMPLES_LAB_CHANNELS_HPP

#include <specverify/link/channel.hpp>

#include "virtual_run.hpp"

#include <memory>
#include <vector>

namespace lab {

//! The source of a figure's links: two systems that share it meet the same link.
[[nodiscard]] inline specverify::philox link_source(std::uint64_t seed) {
  return {{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
}

//! The first `rounds` states of a model, repeated from then on. Record long: a text of n tokens has at most n rounds.
template <specverify::channel_model Model>
[[nodiscard]] channel_function drawn(const Model& model, std::uint64_t seed, std::size_t rounds = 4096) {
  auto states = std::make_shared<std::vector<specverify::channel_state>>(rounds);
  specverify::record(model, link_source(seed), std::span<specverify::channel_state>(*states));
  return [states](std::uint32_t step) {
    const specverify::channel_state& at = (*states)[step % states->size()];
    link_state state;
    state.uplink_rate = at.uplink_rate;
    state.downlink_rate = at.downlink_rate;
    state.uplink_loss = at.uplink_loss;
    state.downlink_loss = at.downlink_loss;
    state.round_trip = at.round_trip;
    state.index = at.index;
    return state;
  };
}

}  // namespace lab

#endif
