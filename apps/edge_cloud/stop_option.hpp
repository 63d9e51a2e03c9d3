// SPDX-License-Identifier: Apache-2.0
//! Adds the option --stop-string to a program that generates a text.
#ifndef EDGE_CLOUD_STOP_OPTION_HPP
#define EDGE_CLOUD_STOP_OPTION_HPP

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace edge_cloud {

inline std::string not_a_stop_string(const std::string& text) {
  return text.empty() ? "a stop string must have at least one byte" : "";
}

//! The option takes one string at a time, because in a list CLI11 would read `[END]` as `END`, and `{}` as nothing.
inline void add_stop_option(CLI::App& app, std::vector<std::string>& strings) {
  app.add_option_function<std::string>(
         "--stop-string", [&strings](const std::string& one) { strings.push_back(one); },
         "end the text before the first occurrence of this string; repeatable; pass it again after a restart")
      ->trigger_on_parse()
      ->check(CLI::Validator(not_a_stop_string, "TEXT"));
}

}  // namespace edge_cloud

#endif
