// SPDX-License-Identifier: Apache-2.0
//! Holds the settings of a run, for the edge and for the cloud. The demo passes them to the child processes on the
//! command line.
#ifndef EDGE_CLOUD_RUN_SETTINGS_HPP
#define EDGE_CLOUD_RUN_SETTINGS_HPP

#include "link_settings.hpp"
#include "secret_text.hpp"
#include "tinylm/directory.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace edge_cloud {

struct run_settings {
  std::string system = "k-sqs";  //!< text for chosen_system (systems.hpp)
  std::vector<std::string> set;  //!< values of --set, for `system`
  std::string prompt = "And it came to pass in those days, that";
  std::uint32_t tokens = 64;              //!< maximum number of tokens after the prompt; the text can end earlier
  std::vector<std::string> stop_strings;  //!< the text ends before the first of these strings
  double temperature = 1.0;
  std::uint64_t session_id = 20261121;
  // Secrets have 32 hex digits each.
  secret_text edge_secret{"6564676520616c6f6e65206b6e6f7773"};   //!< secret of the edge, for random draws
  secret_text cloud_secret{"636c6f756420616c6f6e65206b6e6f77"};  //!< secret of the cloud, for verdicts
  std::uint64_t salt = 0;                                        //!< salt of the cloud; 0: a new one at each start
  std::uint32_t retry_ms = 1000;                                 //!< milliseconds to wait before a new handshake
  //! wait, stop, or local (the edge drafts without the cloud, which verifies later)
  std::string on_link_loss = "wait";
  std::filesystem::path models = tinylm::default_directory();  //!< folder with the bundled models
  //! file with the weights of the decision head; may be empty
  std::filesystem::path head;
  //! file with the weights of the network that plans rounds; may be empty
  std::filesystem::path policy;
  std::filesystem::path prior;  //!< file with a table of id weights; may be empty
  double threshold = -1;        //!< threshold for scores; negative: the head's own
  bool lazy = false;            //!< whether the cloud requests one mismatch's state at a time
  //! protocol of hidden states if the system does not set it: fh, sh, lazy, or round-trip, which chooses by round-trip
  //! time
  std::string protocol = "round-trip";
  std::uint32_t pad_to = 1;     //!< messages of both sides are padded to a multiple of this many bytes
  std::string pace = "none";    //!< pace of the models: paper or none (pace.hpp)
  link_settings link;           //!< link whose properties the edge reports to its session
  std::filesystem::path state;  //!< folder for journal and report of this process
};

//! Returns a number with all digits, so that processes get the same value.
[[nodiscard]] inline std::string exactly(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}

//! Returns the command line for a process's settings, without the secret, because other users of the machine could read
//! it there. The edge sends the properties of the text to the cloud in hello.
[[nodiscard]] inline std::vector<std::string> command_line(const run_settings& run, bool edge) {
  std::vector<std::string> line{
      "--temperature", exactly(run.temperature), "--models", run.models.string(), "--pace", run.pace,
      "--state-dir",   run.state.string()};
  if (!run.head.empty()) line.insert(line.end(), {"--head", run.head.string()});
  if (!run.prior.empty()) line.insert(line.end(), {"--prior", run.prior.string()});
  if (!edge && run.salt != 0) line.insert(line.end(), {"--salt", std::to_string(run.salt)});
  if (!edge && run.lazy) line.emplace_back("--lazy");
  if (edge && !run.policy.empty()) line.insert(line.end(), {"--policy", run.policy.string()});
  if (edge) {
    line.insert(line.end(),
                {"--up-kbit", exactly(run.link.uplink_bits_per_second * 1e-3), "--down-kbit",
                 exactly(run.link.downlink_bits_per_second * 1e-3), "--rtt-ms", exactly(run.link.round_trip_ms),
                 "--loss", exactly(run.link.loss), "--threshold", exactly(run.threshold)});
    if (!run.link.trace.empty()) {
      line.insert(line.end(), {"--channel-trace", run.link.trace_file.string(), "--state-seconds",
                               exactly(run.link.clock.state_seconds), "--trace-origin",
                               std::to_string(run.link.clock.origin_microseconds)});
    }
    line.insert(line.end(), {"--system", run.system, "--prompt", run.prompt, "--tokens", std::to_string(run.tokens),
                             "--session-id", std::to_string(run.session_id), "--retry-ms", std::to_string(run.retry_ms),
                             "--on-link-loss", run.on_link_loss, "--protocol", run.protocol});
    for (const std::string& one : run.stop_strings) line.push_back("--stop-string=" + one);  // it may begin with '-'
  }
  return line;
}

}  // namespace edge_cloud

#endif
