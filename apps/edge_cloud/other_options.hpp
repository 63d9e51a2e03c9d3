// SPDX-License-Identifier: Apache-2.0
//! Makes the error message for a valid journal whose session has other options than this run.
#ifndef EDGE_CLOUD_OTHER_OPTIONS_HPP
#define EDGE_CLOUD_OTHER_OPTIONS_HPP

#include <specverify/session/options.hpp>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace edge_cloud {

//! Returns whether `restore` found damage or another file layout, so that no options could restore the session.
[[nodiscard]] constexpr bool is_damage(specverify::status why) noexcept {
  using specverify::errc;
  return why.code == errc::journal_corrupt || why.code == errc::truncated || why.code == errc::unsupported;
}

//! Returns the command-line option that differs, from the error of an edge's `restore`.
[[nodiscard]] inline std::string differing_option(specverify::status why) {
  using specverify::edge_options;
  if (why.code == specverify::errc::vocabulary_mismatch || why.code == specverify::errc::fingerprint_mismatch)
    return "--models";
  if (why.code != specverify::errc::options_disagree) return "--system";
  switch (why.where) {
    case edge_options::at_session_id:
      return "--session-id";
    case edge_options::at_secret:
      return "secret";
    case edge_options::at_token_budget:
      return "--tokens";
    case edge_options::at_transform:
      return "--temperature";
    case edge_options::at_vocab_size:
    case edge_options::at_fingerprint:
      return "--models";
    case edge_options::at_threshold:
      return "--threshold";
    case edge_options::at_format:
      return "--system or --pad-to";
    default:
      return "--system";
  }
}

[[nodiscard]] inline std::runtime_error other_text(const std::filesystem::path& folder, const std::string& option) {
  return std::runtime_error("--state-dir " + folder.string() + " has a text with another " + option +
                            "; pass the earlier value, or another --state-dir");
}

//! Returns the error for a cloud's journal.
[[nodiscard]] inline std::runtime_error other_session(const std::filesystem::path& folder, specverify::status why) {
  return std::runtime_error(folder.string() + ": the session in this folder needs different options (" +
                            specverify::message(why.code) + "); pass the earlier options, or another --state-dir");
}

}  // namespace edge_cloud

#endif
