// SPDX-License-Identifier: Apache-2.0
// Reads the problems, and the answers in solutions.
#include "problems.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "files.hpp"

namespace tinylm {

std::optional<int> solution_answer(std::string_view solution) {
  const std::size_t mark = solution.rfind("#### ");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view rest = solution.substr(mark + 5);
  int answer = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), answer);
  if (error != std::errc() || (end != rest.data() + rest.size() && *end != '\n')) return std::nullopt;
  return answer;
}

outcome<std::vector<problem>> read_problems(const std::string& path) {
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
