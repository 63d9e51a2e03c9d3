// SPDX-License-Identifier: Apache-2.0
//! Declares the shared code of llama_checks: arguments, and the options of both sides.
#ifndef LLAMA_PAIR_CHECKS_HPP
#define LLAMA_PAIR_CHECKS_HPP

#include <specverify/session/options.hpp>

#include "engine.hpp"

#include <fstream>
#include <string>
#include <vector>

namespace llama_pair {

struct arguments {
  std::string small_file, large_file, prompts_file;
  std::uint32_t tokens = 0;
};

[[nodiscard]] inline std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline constexpr std::uint32_t check_context = 1024;  // positions of both engines

//! Options for texts that must have all tokens: nothing ends a greedy text early.
[[nodiscard]] inline specverify::edge_options edge_options_of(const engine& small, std::uint64_t session_id,
                                                              std::uint32_t tokens, bool greedily) {
  specverify::edge_options options;
  options.session_id = session_id;
  options.secret = specverify::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  options.vocab_size = small.vocab_size();
  options.token_budget = tokens;
  options.max_text_length = small.context_length() - 8;
  options.fingerprint = small.fingerprint();
  if (!greedily) options.stop_tokens = small.ends();
  return options;
}

[[nodiscard]] inline specverify::cloud_options cloud_options_of(const engine& large, std::uint64_t session_id,
                                                                bool greedily) {
  specverify::cloud_options options;
  options.secret = specverify::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");
  options.salt = session_id + 1;
  options.vocab_size = large.vocab_size();
  options.max_text_length = large.context_length() - 8;
  options.fingerprint = large.fingerprint();
  if (!greedily) options.stop_tokens = large.ends();
  return options;
}

// Each function returns the exit code of one part, or throws failure.
[[nodiscard]] int check_kills(const arguments& given);
[[nodiscard]] int check_share(engine& small, engine& large, const arguments& given);

}  // namespace llama_pair

#endif
