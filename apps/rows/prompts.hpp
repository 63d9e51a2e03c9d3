// SPDX-License-Identifier: Apache-2.0
//! Reads prompts for the bundled models from the lab's files, alternately problems and beginnings of prose.
#ifndef SPECVERIFY_APPS_ROWS_PROMPTS_HPP
#define SPECVERIFY_APPS_ROWS_PROMPTS_HPP

#include "tinylm/tokenizer.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace recorded {

//! Returns `count` prompts after the first `skipped`.
inline std::vector<std::vector<tinylm::token_id>> lab_prompts(const std::string& problem_file,
                                                              const std::string& prose_file,
                                                              const tinylm::tokenizer& vocabulary, std::uint32_t count,
                                                              std::uint32_t skipped = 0) {
  std::vector<std::vector<tinylm::token_id>> prompts;
  std::ifstream problems(problem_file), prose(prose_file);
  std::string line;
  for (std::uint32_t i = 0; prompts.size() < count; ++i) {
    const bool asks = i % 2 == 0;
    if (!std::getline(asks ? problems : prose, line)) throw std::runtime_error("too few prompts");
    if (i < skipped) continue;
    line = asks ? "Q: " + line.substr(line.find('\t') + 1) + "\nA:" : line.substr(0, 100);
    std::vector<tinylm::token_id>& ids = prompts.emplace_back(1, tinylm::tokenizer::end_token);
    for (const tinylm::token_id id : vocabulary.encode(line)) ids.push_back(id);
  }
  return prompts;
}

}  // namespace recorded

#endif
