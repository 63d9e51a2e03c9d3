// SPDX-License-Identifier: Apache-2.0
//! Held-out arithmetic word problems: the file, the prompt, the answer of a solution.
#ifndef SPECVERIFY_EXAMPLES_TINYLM_PROBLEMS_HPP
#define SPECVERIFY_EXAMPLES_TINYLM_PROBLEMS_HPP

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"
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
[[nodiscard]] inline std::optional<int> solution_answer(std::string_view solution) {
  const std::size_t mark = solution.rfind("#### ");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view rest = solution.substr(mark + 5);
  int answer = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), answer);
  if (error != std::errc() || (end != rest.data() + rest.size() && *end != '\n')) return std::nullopt;
  return answer;
}

//! One problem a line: answer, tab, question.
[[nodiscard]] inline outcome<std::vector<problem>> read_problems(const std::string& path) {
  using bad = outcome<std::vector<problem>>;
  const auto bytes = read_file(path);
  if (!bytes.ok()) return bad::failure(bytes.error);
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  std::vector<problem> problems;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    problem p;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), p.answer);
    const auto used = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || used + 1 >= line.size() || *end != '\t') {
      return bad::failure(path + ": line " + std::to_string(problems.size() + 1) + " is no problem");
    }
    p.question = line.substr(used + 1);
    problems.push_back(std::move(p));
  }
  return problems;
}

}  // namespace tinylm

#endif  // SPECVERIFY_EXAMPLES_TINYLM_PROBLEMS_HPP
