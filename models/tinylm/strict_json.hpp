// SPDX-License-Identifier: Apache-2.0
//! Reads the JSON object of a safetensors header as strictly as that format requires.
#ifndef SPECVERIFY_MODELS_TINYLM_STRICT_JSON_HPP
#define SPECVERIFY_MODELS_TINYLM_STRICT_JSON_HPP

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "outcome.hpp"

namespace tinylm {

//! Rejects input that nlohmann::json accepts silently: a repeated key in an object (it keeps the last), a byte order
//! mark or blanks at the beginning, and anything after a NUL.
[[nodiscard]] inline outcome<nlohmann::json> strict_object(std::string_view text) {
  using bad = outcome<nlohmann::json>;
  using event = nlohmann::json::parse_event_t;
  if (text.find('\0') != std::string_view::npos) return bad::failure("it holds a NUL byte");
  if (text.empty() || text.front() != '{') return bad::failure("it does not begin with {");
  std::vector<std::set<std::string>> keys;  // keys of each object that is not closed yet
  nlohmann::json twice;                     // the last repeated key; null if there is none
  const auto look = [&](int, event what, nlohmann::json& value) {
    if (what == event::object_start) keys.emplace_back();
    if (what == event::object_end) keys.pop_back();
    if (what == event::key && !keys.back().insert(value.get<std::string>()).second) twice = value;
    return true;
  };
  nlohmann::json read = nlohmann::json::parse(text.begin(), text.end(), look, false);
  if (!read.is_object()) return bad::failure("it is no JSON object");
  if (!twice.is_null()) return bad::failure("the key " + twice.dump() + " stands in one object twice");
  return read;
}

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_STRICT_JSON_HPP
