// SPDX-License-Identifier: Apache-2.0
//! Options shared by several commands of the program.
#ifndef EDGE_CLOUD_SIDE_OPTIONS_HPP
#define EDGE_CLOUD_SIDE_OPTIONS_HPP

#include "run_settings.hpp"
#include "system_options.hpp"
#include "trace_file.hpp"
#include "whole_number.hpp"

#include <CLI/CLI.hpp>

namespace edge_cloud {

//! Rejects numbers that are too large, because CLI11 would replace them by the largest number.
inline std::string not_a_whole_number(const std::string& text) {
  return whole_number_from(text) ? "" : "a number of decimal digits below 2^64, without leading zeros, not " + text;
}
inline CLI::Validator whole_number() { return CLI::Validator(not_a_whole_number, "NUMBER"); }

inline void add_model_options(CLI::App& app, run_settings& run) {
  app.add_option("--temperature", run.temperature, "temperature of both models; must be equal on both sides")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 4.0));
  app.add_option("--models", run.models, "folder of the embedded models")->check(CLI::ExistingDirectory);
  app.add_option("--pace", run.pace, "minimum time per forward pass; paper: as the papers' models; none: full speed")
      ->capture_default_str()
      ->check(CLI::IsMember({"paper", "none"}));
}

inline void add_head_option(CLI::App& app, run_settings& run) {
  app.add_option("--head", run.head, "weights of the decision head, for methods that score mismatches")
      ->check(CLI::ExistingFile);
}

inline void add_system_option(CLI::App& app, run_settings& run) {
  app.add_option("--system", run.system, "method, with optional settings, for example c-sqs:support_size=256")
      ->capture_default_str();
  add_settings_options(app, run.set);
}

inline void add_tokens_option(CLI::App& app, run_settings& run) {
  app.add_option("--tokens", run.tokens, "maximum tokens to generate")
      ->capture_default_str()
      ->check(CLI::Range(1, 400));
}

inline void add_text_options(CLI::App& app, run_settings& run) {
  add_tokens_option(app, run);
  app.add_option("--session-id", run.session_id, "session id; id, secrets and salt together determine every draw")
      ->capture_default_str()
      ->check(whole_number());
}

inline void add_salt_option(CLI::App& app, run_settings& run) {
  app.add_option("--salt", run.salt, "salt of the cloud's key; set it to repeat a text; default: random")
      ->check(CLI::Range(std::uint64_t{1}, ~std::uint64_t{0}));
}

inline CLI::Option* add_retry_option(CLI::App& app, run_settings& run) {
  return app.add_option("--retry-ms", run.retry_ms, "milliseconds without a response before a retry")
      ->capture_default_str();
}

inline auto kilo(double& value) {
  return [&value](const double& given) { value = given * 1e3; };
}

//! Adds the options of a link except for the rate of the uplink.
inline void add_steady_options(CLI::App& app, link_settings& link) {
  app.add_option_function<double>("--down-kbit", kilo(link.downlink_bits_per_second),
                                  "downlink in kbit/s, default 4000")
      ->check(CLI::Range(1.0, 1e7));
  app.add_option("--rtt-ms", link.round_trip_ms, "round-trip time in ms")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e4));
  app.add_option("--loss", link.loss, "probability that a message is lost")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9));
}

inline void add_link_options(CLI::App& app, link_settings& link) {
  app.add_option_function<double>("--up-kbit", kilo(link.uplink_bits_per_second), "uplink in kbit/s, default 350")
      ->check(CLI::Range(1.0, 1e7));
  add_steady_options(app, link);
  app.add_option("--jitter-ms", link.jitter_ms, "maximum random delay per direction, in ms")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e4));
  app.add_option("--link-seed", link.seed, "seed of jitter and loss")->capture_default_str();
  const auto follow = [&link](const std::string& file) { link.trace = load_trace(link.trace_file = file); };
  app.add_option_function<std::string>("--channel-trace", follow,
                                       "CSV file of link states; replaces fixed rates, loss and round trip")
      ->check(CLI::ExistingFile);
  app.add_option("--state-seconds", link.clock.state_seconds, "seconds per state of the trace")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
}

}  // namespace edge_cloud

#endif
