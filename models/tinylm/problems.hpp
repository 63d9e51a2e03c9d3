// SPDX-License-Identifier: Apache-2.0
//! Held-out arithmetic word problems: the file, the prompt, the answer of a solution.
#ifndef SPECVERIFY_EXAMPLES_TINYLM_PROBLEMS_HPP
#define SPECVERIFY_EXAMPLES_TINYLM_PROBLEMS_HPP

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

//! What a model is fed (after <|end|>): its solution follows and ends with "\n#### 42\n" and <|end|>.
[[nodiscard]] inline std::string problem_prompt(std::string_view question) {
  return "Q: " + std::string(question) + "\nA:";
}

//! The number after the last "#### ", if one stands there alone on its line.
[[nodiscard]] std::optional<int> solution_answer(std::string_view solution);

//! One problem a line: answer, tab, question.
[[nodiscard]] outcome<std::vector<problem>> read_problems(const std::string& path);

}  // namespace tinylm

#endif  // SPECVERIFY_EXAMPLES_TINYLM_PROBLEMS_HPP
