// SPDX-License-Identifier: Apache-2.0
//! Prompts in the form that a model was trained on: its own chat template, or the text as it is.
#ifndef LLAMA_PAIR_CHAT_HPP
#define LLAMA_PAIR_CHAT_HPP

#include "engine.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace llama_pair {

struct turn {
  std::string role;  //!< user, assistant
  std::string content;
};

//! The ids of a conversation that the model is to answer.
[[nodiscard]] inline std::vector<specverify::token_id> prompt_of(const engine& side, const std::vector<turn>& turns,
                                                                 bool with_template) {
  const char* const form = with_template ? llama_model_chat_template(side.weights(), nullptr) : nullptr;
  std::string text;
  for (const turn& one : turns) text += one.content;
  if (form != nullptr) {
    std::vector<llama_chat_message> messages;
    for (const turn& one : turns) messages.push_back({one.role.c_str(), one.content.c_str()});
    std::string made(2 * text.size() + 1024, '\0');
    const auto apply = [&] {
      return llama_chat_apply_template(form, messages.data(), messages.size(), true, made.data(),
                                       static_cast<std::int32_t>(made.size()));
    };
    std::int32_t length = apply();
    if (length > static_cast<std::int32_t>(made.size())) {
      made.resize(static_cast<std::size_t>(length));
      length = apply();
    }
    if (length > 0) text = made.substr(0, static_cast<std::size_t>(length));
  }
  return specverify::llama_cpp::tokens_of(side.vocab(), text);
}

//! Drops the oldest question and its answer until the conversation has `most` tokens, or its last question alone is
//! left. Returns how many turns went.
inline std::size_t drop_oldest(const engine& side, std::vector<turn>& turns, bool with_template, std::size_t most) {
  const std::size_t before = turns.size();
  while (turns.size() > 2 && prompt_of(side, turns, with_template).size() > most)
    turns.erase(turns.begin(), turns.begin() + 2);
  return before - turns.size();
}

}  // namespace llama_pair

#endif
