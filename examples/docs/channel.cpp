// SPDX-License-Identifier: Apache-2.0
// Two links, each a pure function of the round's number: a two-state one, recorded and replayed, and a fading one.
#include <specverify/link/channel.hpp>

#include <array>

int main() {
  using namespace specverify;
  const philox source{{{0x5ec4e7, 17}}};                                        // any key
  const markov_channel markov = markov_channel::make(qs_paper_link()).value();  // 350 kbit/s or 4 Mbit/s
  std::array<channel_state, 32> states{};
  record(markov, source, std::span<channel_state>(states));
  const recorded_channel replay = recorded_channel::make(states).value();
  for (std::uint32_t round = 0; round < 32; ++round) {
    if (!(replay.state(source, round, {}) == states[round])) return 1;
  }
  fading_options options;  // 10 MHz; gains below 1e-3 are clipped
  options.mean_snr = from_decibel(10);
  const rayleigh_channel fading = rayleigh_channel::make(options).value();
  const channel_state state = fading.state(source, 7, {});
  if (!check(state).ok() || state.uplink_rate < fading.at_gain(options.minimum_gain).uplink_rate) return 2;
  options.uplink_loss = 1;
  return rayleigh_channel::make(options).error().code == errc::invalid_loss ? 0 : 3;
}
