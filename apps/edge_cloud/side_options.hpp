// SPDX-License-Identifier: Apache-2.0
//! Adds the options that several commands of the program share.
#ifndef EDGE_CLOUD_SIDE_OPTIONS_HPP
#define EDGE_CLOUD_SIDE_OPTIONS_HPP

#include "run_settings.hpp"
#include "system_options.hpp"
#include "trace_file.hpp"
#include "whole_number.hpp"

#include <CLI/CLI.hpp>

namespace edge_cloud {

//! Rejects numbers that are too large, because CLI11 would replace such a number by the largest number.
inline std::string not_a_whole_number(const std::string& text) {
  return whole_number_from(text) ? "" : "a number of decimal digits below 2^64, without leading zeros, not " + text;
}
inline CLI::Validator whole_number() { return CLI::Validator(not_a_whole_number, "NUMBER"); }

inline void add_model_options(CLI::App& app, run_settings& run) {
  app.add_option("--temperature", run.temperature,
                 "sampling temperature of both models; both sides must use the same value")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 4.0));
  app.add_option("--models", run.models, "folder with the bundled models; default: the models of the source tree")
      ->check(CLI::ExistingDirectory);
  app.add_option("--pace", run.pace,
                 "minimum time of a forward pass: `paper` slows both models to the papers' times, `none` adds no delay")
      ->capture_default_str()
      ->check(CLI::IsMember({"paper", "none"}));
}

inline void add_head_option(CLI::App& app, run_settings& run) {
  app.add_option("--head", run.head,
                 "file with the weights of the decision head; required by methods that score mismatches")
      ->check(CLI::ExistingFile);
}

inline void add_system_option(CLI::App& app, run_settings& run) {
  app.add_option("--system", run.system,
                 "method to run, optionally with settings, for example c-sqs:support_size=256 (names: --list)")
      ->capture_default_str();
  add_settings_options(app, run.set);
}

inline void add_tokens_option(CLI::App& app, run_settings& run) {
  app.add_option("--tokens", run.tokens, "maximum number of tokens to generate after the prompt")
      ->capture_default_str()
      ->check(CLI::Range(1, 400));
}

inline void add_text_options(CLI::App& app, run_settings& run) {
  add_tokens_option(app, run);
  app.add_option("--session-id", run.session_id,
                 "session id; together with both secrets and the salt, it determines every random draw")
      ->capture_default_str()
      ->check(whole_number());
}

inline void add_salt_option(CLI::App& app, run_settings& run) {
  app.add_option(
         "--salt", run.salt,
         "salt of the cloud's random draws; pass the salt of an earlier run to repeat its text; default: random")
      ->check(CLI::Range(std::uint64_t{1}, ~std::uint64_t{0}));
}

inline CLI::Option* add_retry_option(CLI::App& app, run_settings& run) {
  return app
      .add_option("--retry-ms", run.retry_ms,
                  "milliseconds to wait for a response before the edge starts a new handshake")
      ->capture_default_str();
}

inline auto kilo(double& value) {
  return [&value](const double& given) { value = given * 1e3; };
}

//! Adds all options of a link except for the rate of the uplink.
inline void add_steady_options(CLI::App& app, link_settings& link) {
  app.add_option_function<double>("--down-kbit", kilo(link.downlink_bits_per_second),
                                  "rate of the downlink in kbit/s; default: 4000")
      ->check(CLI::Range(1.0, 1e7));
  app.add_option("--rtt-ms", link.round_trip_ms, "round-trip time of the link in milliseconds")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e4));
  app.add_option("--loss", link.loss, "probability that the link loses a message")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9));
}

inline void add_link_options(CLI::App& app, link_settings& link) {
  app.add_option_function<double>("--up-kbit", kilo(link.uplink_bits_per_second),
                                  "rate of the uplink in kbit/s; default: 350")
      ->check(CLI::Range(1.0, 1e7));
  add_steady_options(app, link);
  app.add_option("--jitter-ms", link.jitter_ms,
                 "maximum random delay added to a message in each direction, in milliseconds")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e4));
  app.add_option("--link-seed", link.seed, "random seed for the jitter and the lost messages")->capture_default_str();
  const auto follow = [&link](const std::string& file) { link.trace = load_trace(link.trace_file = file); };
  app.add_option_function<std::string>(
         "--channel-trace", follow,
         "CSV file with a series of link states; replaces the fixed rates, loss and round-trip time")
      ->check(CLI::ExistingFile);
  app.add_option("--state-seconds", link.clock.state_seconds, "duration of each state of the channel trace, in seconds")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
}

}  // namespace edge_cloud

#endif
