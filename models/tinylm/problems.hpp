// SPDX-License-Identifier: Apache-2.0
//! Reads held-out arithmetic word problems: the file, the prompt, and the answer in a solution.
#ifndef SPECVERIFY_MODELS_TINYLM_PROBLEMS_HPP
#define SPECVERIFY_MODELS_TINYLM_PROBLEMS_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.hpp"

namespace tinylm {

struct problem {
  std::string question;
  int answer = 0;
};

//! Returns the input of a model (after <|end|>). The solution follows and ends with "\n#### 42\n" and <|end|>.
[[nodiscard]] inline std::string problem_prompt(std::string_view question) {
  return "Q: " + std::string(question) + "\nA:";
}

//! Returns the number after the last "#### ", if nothing else is on that line.
[[nodiscard]] std::optional<int> solution_answer(std::string_view solution);

//! Reads one problem per line: answer, tab, question.
[[nodiscard]] outcome<std::vector<problem>> read_problems(const std::string& path);

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_PROBLEMS_HPP
