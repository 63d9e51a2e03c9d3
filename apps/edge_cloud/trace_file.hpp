// SPDX-License-Identifier: Apache-2.0
//! Reads a channel trace for the emulated link from a file, or draws a new trace from a channel model of the library.
#ifndef EDGE_CLOUD_TRACE_FILE_HPP
#define EDGE_CLOUD_TRACE_FILE_HPP

#include <specverify/link/channel.hpp>
#include <specverify/link/channel_trace.hpp>

#include "file_bytes.hpp"
#include "link_settings.hpp"

#include <stdexcept>
#include <string>

namespace edge_cloud {

inline constexpr double slowest_rate = 1e3;  //!< minimum bit/s of the emulated link

//! Returns whether the emulated link supports a state. The ranges are the ranges of the options, but a rate has no
//! upper limit.
[[nodiscard]] inline bool can_emulate(const specverify::channel_state& state) noexcept {
  return std::min(state.uplink_rate, state.downlink_rate) >= slowest_rate &&
         std::max(state.uplink_loss, state.downlink_loss) <= 0.9 && state.round_trip <= 10;
}

//! Returns the states in the file. Throws an error with the file name and the line.
[[nodiscard]] inline std::vector<specverify::channel_state> load_trace(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = file_bytes(file);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<specverify::channel_state> states(specverify::max_channel_trace_steps(text));
  const auto refuse = [&](std::size_t line, const char* why) {
    throw std::runtime_error(file.string() + ":" + std::to_string(line) + ": " + why);
  };
  const auto steps = specverify::read_channel_trace(text, states);
  if (!steps.ok()) refuse(steps.error().where, specverify::message(steps.error().code));
  states.resize(steps->size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!can_emulate(states[i]))
      refuse(i + 2,
             "the emulated link needs at least 1 kbit/s, a loss of at most 0.9 and a round trip of at most 10 s");
  }
  return states;
}

struct trace_model {
  std::string name = "qs-paper";  //!< name of the model, one of `trace_model_names`
  std::uint32_t steps = 60;
  std::uint64_t seed = 1;
  double mean_snr_decibel = 10;    //!< fading models
  double bandwidth_hertz = 100e3;  //!< fading models
};
inline const std::vector<std::string> trace_model_names{"qs-paper", "qs-code", "rayleigh", "rician"};

//! Returns the text of a trace. The model draws the uplink's rates, which are raised to at least `slowest_rate`; `link`
//! sets downlink, loss and round trip. Throws the model's error.
[[nodiscard]] inline std::string drawn_trace(const trace_model& model, const link_settings& link) {
  std::vector<specverify::channel_state> states(model.steps);
  const auto draw = [&](const auto& made) {
    if (!made.ok()) throw std::runtime_error(specverify::message(made.error().code));
    const specverify::philox source{
        {{static_cast<std::uint32_t>(model.seed), static_cast<std::uint32_t>(model.seed >> 32)}}};
    specverify::record(made.value(), source, std::span<specverify::channel_state>(states));
  };
  specverify::fading_options fading;
  fading.bandwidth = model.bandwidth_hertz;
  fading.mean_snr = specverify::from_decibel(model.mean_snr_decibel);
  if (model.name == "rayleigh") {
    draw(specverify::rayleigh_channel::make(fading));
  } else if (model.name == "rician") {
    draw(specverify::rician_channel::make(fading));
  } else {
    draw(specverify::markov_channel::make(model.name == "qs-code" ? specverify::qs_code_link()
                                                                  : specverify::qs_paper_link()));
  }
  for (specverify::channel_state& state : states) {
    state.uplink_rate = std::max(state.uplink_rate, slowest_rate);
    state.downlink_rate = link.downlink_bits_per_second;
    state.uplink_loss = state.downlink_loss = link.loss;
    state.round_trip = link.round_trip_ms * 1e-3;
  }
  std::string text(specverify::max_channel_trace_bytes(states.size()), '\0');
  const auto size = specverify::write_channel_trace(states, text);
  if (!size.ok()) throw std::runtime_error(specverify::message(size.error().code));
  text.resize(size->size());
  return text;
}

}  // namespace edge_cloud

#endif
