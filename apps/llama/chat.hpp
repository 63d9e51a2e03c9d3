// SPDX-License-Identifier: Apache-2.0
//! Formats prompts in the form on which the model was trained: with the model's chat template, or as plain text.
#ifndef LLAMA_PAIR_CHAT_HPP
#define LLAMA_PAIR_CHAT_HPP

#include "engine.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llama_pair {

struct turn {
  std::string role;  //!< "user" or "assistant"
  std::string content;
};

//! Returns the ids of a conversation that the model should answer. Control tokens must come only from the template, and
//! their names in a turn must stay text. So the template is filled with a mark for each turn, and the parts of the
//! template and the turns are tokenized separately.
[[nodiscard]] inline std::vector<specverify::token_id> prompt_of(const engine& side, const std::vector<turn>& turns,
                                                                 bool with_template) {
  using specverify::llama_cpp::control_tokens, specverify::llama_cpp::tokens_of;
  static constexpr char mark[] = "\x1f";  // a control character that no template has
  const char* const form = with_template ? llama_model_chat_template(side.weights(), nullptr) : nullptr;
  std::string made(1024 + 256 * turns.size(), '\0');
  std::int32_t length = -1;
  if (form != nullptr) {
    std::vector<llama_chat_message> messages;
    for (const turn& one : turns) messages.push_back({one.role.c_str(), mark});
    const auto apply = [&] {
      return llama_chat_apply_template(form, messages.data(), messages.size(), true, made.data(),
                                       static_cast<std::int32_t>(made.size()));
    };
    length = apply();
    if (length > static_cast<std::int32_t>(made.size())) {
      made.resize(static_cast<std::size_t>(length));
      length = apply();
    }
  }
  made.resize(static_cast<std::size_t>(std::max(length, 0)));
  if (std::count(made.begin(), made.end(), mark[0]) != static_cast<std::ptrdiff_t>(turns.size()))
    made.assign(turns.size(), mark[0]);  // llama.cpp cannot fill this template: use plain texts
  std::vector<specverify::token_id> ids;
  const auto add = [&](std::string_view text, control_tokens control) {
    const auto more = tokens_of(side.vocab(), text, ids.empty(), control);
    ids.insert(ids.end(), more.begin(), more.end());
  };
  std::size_t at = 0;
  for (const turn& one : turns) {
    const std::size_t end = made.find(mark, at);
    add(std::string_view(made).substr(at, end - at), control_tokens::by_name);
    add(one.content, control_tokens::none);
    at = end + 1;
  }
  add(std::string_view(made).substr(at), control_tokens::by_name);
  return ids;
}

//! Drops the oldest user turn and the answer to it until the conversation has at most `most` tokens, or only the last
//! user turn is left. Returns the number of dropped turns.
inline std::size_t drop_oldest(const engine& side, std::vector<turn>& turns, bool with_template, std::size_t most) {
  const std::size_t before = turns.size();
  while (turns.size() > 2 && prompt_of(side, turns, with_template).size() > most)
    turns.erase(turns.begin(), turns.begin() + 2);
  return before - turns.size();
}

}  // namespace llama_pair

#endif
