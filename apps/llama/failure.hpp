// SPDX-License-Identifier: Apache-2.0
//! Describes a failure for the user, with one exit code per kind of failure (docs/llama.md lists them).
#ifndef LLAMA_PAIR_FAILURE_HPP
#define LLAMA_PAIR_FAILURE_HPP

#include <specverify/core/status.hpp>

#include <stdexcept>
#include <string>

namespace llama_pair {

enum class exit_code {
  done = 0,
  text_differs = 1,
  usage = 2,
  model_missing = 10,
  wrong_pair = 11,
  context_full = 12,
  prompt_too_long = 13,
  cloud_gone = 14,
  version_mismatch = 15,
  row_is_nan = 16,
  engine_failed = 17,
  session_failed = 18,
  table_unusable = 19
};

struct failure : std::runtime_error {
  failure(exit_code why, const std::string& said) : std::runtime_error(said), code(why) {}
  exit_code code;
};

//! Returns the failure for a session's status. `refusal` is the reason that the peer gave, if the status is
//! refused_by_peer.
[[nodiscard]] inline failure failure_of(specverify::status why, specverify::status refusal) {
  using specverify::errc;
  const bool at_cloud = why.code == errc::refused_by_peer && !refusal.ok();
  if (at_cloud) why = refusal;
  const std::string where = std::to_string(why.where), side = at_cloud ? "the cloud" : "the device";
  switch (why.code) {
    case errc::fingerprint_mismatch:
    case errc::vocabulary_mismatch:
      return {exit_code::wrong_pair, "wrong pair: the two models have different vocabularies; take two of one family"};
    case errc::context_full:
      return {exit_code::context_full,
              "context full: " + side + "'s engine has " + where + " positions; raise --context or lower --tokens"};
    case errc::prompt_too_long:
      return {exit_code::prompt_too_long, "prompt too long: it has " + where +
                                              " tokens and leaves no room for text; shorten it or raise --context"};
    case errc::peer_timeout:
    case errc::link_lost:
      return {exit_code::cloud_gone, "cloud gone: no answer after several retries; the text so far is above"};
    case errc::unknown_version:
      return {exit_code::version_mismatch, "version mismatch: one side uses wire version " +
                                               std::to_string(why.where >> 16) + ", the other one " +
                                               std::to_string(why.where & 0xFFFFu)};
    case errc::row_has_nan:
      return {exit_code::row_is_nan,
              "NaN row: " + side + "'s engine returned a NaN " +
                  (at_cloud ? "in row " + where + " of the round" : "as the logit of token " + where)};
    case errc::engine_failed:
      return {exit_code::engine_failed, "engine failure: llama_decode at " + side + " returned " +
                                            std::to_string(static_cast<std::int32_t>(why.where))};
    default:
      return {exit_code::session_failed, "the session failed at " + side + ": " + why.text().c_str()};
  }
}

}  // namespace llama_pair

#endif
