// SPDX-License-Identifier: Apache-2.0
//! Parses the names of the library's systems on a command line, for example "k-sqs", or with settings
//! "c-sqs:support_size=256:round_bits=1000".
#ifndef EDGE_CLOUD_SYSTEMS_HPP
#define EDGE_CLOUD_SYSTEMS_HPP

#include <specverify/session/systems.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace edge_cloud {

//! Default systems of the demo.
inline constexpr std::array<const char*, 5> demo_systems{"target", "hlm", "qs", "k-sqs:paper_code=1", "k-sqs"};

[[nodiscard]] inline std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

//! Returns the text of a setting with the range.
[[nodiscard]] inline std::string text_of(const specverify::setting_info& setting) {
  const std::string usual = setting.must_be_given() ? "no default" : "default " + short_number(setting.usual);
  return std::string(setting.name) + " (" + short_number(setting.least) + " to " + short_number(setting.most) + ", " +
         usual + "): " + std::string(setting.meaning);
}

//! Returns the kind of a system's text: "exact" if tokens are drawn from the target's distribution, "argmax" if each is
//! the target's most probable token, and otherwise "lossy".
[[nodiscard]] inline const char* text_of(const specverify::system_info& system) {
  if (system.strength == specverify::guarantee::lossy) return "lossy";
  return system.greedy ? "argmax" : "exact";
}

//! Returns a list of every system, for --list.
[[nodiscard]] inline std::string list_of_systems() {
  std::string text;
  for (const specverify::system_info& one : specverify::systems()) {
    text.append(one.name).append(" (").append(text_of(one)).append("): ").append(one.sentence);
    if (one.needs_attention) text += "; needs attention rows of the drafter";
    if (one.needs_head) text += "; needs hidden states and a decision head (--head)";
    if (one.needs_network) text += "; needs a trained network (--policy)";
    text += '\n';
    for (const specverify::setting_info& setting : one.settings) text += "    " + text_of(setting) + '\n';
  }
  return text;
}

class chosen_system {
 public:
  //! Throws std::invalid_argument with the error and the valid choices.
  explicit chosen_system(std::string_view text) {
    const auto part = [&text] {
      const std::string_view first = text.substr(0, text.find(':'));
      text.remove_prefix(std::min(text.size(), first.size() + 1));
      return first;
    };
    const std::string name(part());
    const auto found = specverify::find_system(name);
    if (!found) throw std::invalid_argument("system " + name + ": " + specverify::message(found.error().code));
    info_ = *found;
    while (!text.empty()) set(part());
  }

  [[nodiscard]] const specverify::system_info& info() const noexcept { return info_; }
  [[nodiscard]] std::span<const specverify::setting> settings() const noexcept { return settings_; }
  [[nodiscard]] bool has_setting(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] bool is_set(std::string_view name) const {
    return std::any_of(settings_.begin(), settings_.end(), [&](const auto& one) { return one.name == name; });
  }

  //! Applies a setting such as "support_size=32".
  void set(std::string_view text) {
    const auto read = specverify::setting_from(text);
    if (!read) refuse(text, "is not NAME=NUMBER");
    set(read->name, read->value);
  }
  void set(std::string_view name, double value) {
    const specverify::setting_info* const known = find(name);
    if (known == nullptr) refuse(name, "unknown setting; see --list");
    settings_.push_back({known->name, value});
    const auto checked = completed(specverify::max_vocab_size, 1).made(specverify::max_vocab_size);
    if (!checked) refuse(text_of(*known), specverify::message(checked.error().code));
  }
  //! Adds the settings that have no default because they depend on the models: the limit of V, and the hidden size.
  [[nodiscard]] chosen_system completed(std::uint32_t vocab_size, std::uint32_t hidden_size) const {
    chosen_system made = *this;
    for (const specverify::setting_info& one : info_.settings) {
      const bool of_states = one.name == "hidden_size";
      if (one.must_be_given() && !is_set(one.name))
        made.settings_.push_back({one.name, static_cast<double>(of_states ? hidden_size : vocab_size)});
    }
    return made;
  }
  [[nodiscard]] specverify::system_shape shape(std::uint32_t vocab_size = specverify::max_vocab_size,
                                               std::uint32_t hidden_size = 1) const {
    return completed(vocab_size, hidden_size).made(vocab_size).value();
  }

  //! Returns the text form.
  [[nodiscard]] std::string text() const {
    std::string made(info_.name);
    for (const specverify::setting& one : settings_)
      made.append(":").append(one.name).append("=").append(short_number(one.value));
    return made;
  }

 private:
  [[nodiscard]] const specverify::setting_info* find(std::string_view name) const {
    for (const specverify::setting_info& one : info_.settings)
      if (specverify::same_name(one.name, name)) return &one;
    return nullptr;
  }
  [[nodiscard]] specverify::result<specverify::system_shape> made(std::uint32_t vocab_size) const {
    return specverify::shape_of(info_.name, settings_, vocab_size);
  }
  [[noreturn]] void refuse(std::string_view setting, std::string_view why) const {
    throw std::invalid_argument("system " + std::string(info_.name) + ": setting " + std::string(setting) + ": " +
                                std::string(why));
  }

  specverify::system_info info_{};
  std::vector<specverify::setting> settings_;  // each name is a string of the library's list
};

//! Returns whether the protocol of hidden states is chosen when a text begins (protocol_choice.hpp).
[[nodiscard]] inline bool leaves_protocol_open(const chosen_system& system) {
  return system.info().needs_head && !system.is_set("with_draft");
}

//! Returns whether the drafts of a system contain only ids, so that a table can code them.
[[nodiscard]] inline bool sends_only_ids(const chosen_system& system) {
  const specverify::system_shape shape = system.shape();
  return shape.format.format == specverify::law_format::token_only && shape.mode == specverify::session_mode::draft;
}

//! Adds the settings of --set to each of `systems` that has them. Throws std::invalid_argument.
[[nodiscard]] inline std::vector<std::string> with_settings(const std::vector<std::string>& systems,
                                                            const std::vector<std::string>& set) {
  std::vector<std::string> made = systems;
  for (const std::string& text : systems) (void)chosen_system(text);
  for (const std::string& one : set) {
    std::size_t takers = 0;
    for (std::string& text : made) {
      chosen_system system(text);
      if (!system.has_setting(one.substr(0, one.find('='))) && made.size() > 1) continue;
      system.set(one);
      text = system.text();
      takers += 1;
    }
    if (takers == 0) throw std::invalid_argument("--set " + one + ": none of the systems has this setting; see --list");
  }
  return made;
}

}  // namespace edge_cloud

#endif
