// SPDX-License-Identifier: Apache-2.0
#include "device_keys.hpp"

#include "../file_bytes.hpp"
#include "../whole_number.hpp"
#include "private_file.hpp"

#include <specverify/core/secret.hpp>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace edge_cloud {

namespace {

[[noreturn]] void bad_line(const std::string& name, std::size_t line, const std::string& what) {
  throw std::runtime_error(name + ", line " + std::to_string(line) + ": " + what);
}

//! Returns views of the words in a line, because no copy of a key may be made.
std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view space = " \t\r\n\v\f";
  std::vector<std::string_view> words;
  for (std::size_t from = 0; (from = line.find_first_not_of(space, from)) != line.npos;) {
    words.push_back(line.substr(from, line.find_first_of(space, from) - from));
    from += words.back().size();
  }
  return words;
}

//! Calls `take(number, words)` for each line that is neither empty nor a comment.
template <class Take>
void for_each_line(std::string_view text, const std::string& name, Take&& take) {
  refuse_mark(text, name);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto words = words_of(text.substr(0, end));
    if (!words.empty() && words.front().front() != '#') take(number, words);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::uint64_t device_named(std::string_view word, const std::string& name, std::size_t line) {
  const auto device = whole_number_from(word);
  if (!device) bad_line(name, line, "a device id must be a decimal number below 2^64 without leading zeros");
  return *device;
}

//! Returns the only word of a file, or an empty text if there is none or more than one.
secret_text only_word(const std::filesystem::path& file) {
  const secret_text text = private_text(file);
  refuse_mark(text, file.string());
  const auto words = words_of(text);
  return words.size() == 1 ? secret_text(words.front()) : secret_text();
}

secret_text random_secret() {
  const auto bytes = random_bytes<specverify::wiped<std::array<std::byte, 16>>>();
  secret_text text;
  for (const std::byte byte : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    text.append(digits.substr(std::to_integer<std::size_t>(byte >> 4), 1));
    text.append(digits.substr(std::to_integer<std::size_t>(byte & std::byte{15}), 1));
  }
  return text;
}

}  // namespace

std::optional<device_key> key_from_hex(std::string_view text) {
  device_key made{};
  if (text.size() != 2 * made.size()) return std::nullopt;
  for (std::size_t i = 0; i < made.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + 2 * i;
    if (std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return std::nullopt;
    made[i] = static_cast<std::byte>(value);
  }
  if (made == device_key{}) return std::nullopt;
  return made;
}

device_keys::device_keys(std::string_view text, const std::string& name) {
  for_each_line(text, name, [&](std::size_t number, const std::vector<std::string_view>& words) {
    if (words.size() != 2) bad_line(name, number, "a line must have a device id, a space and the key");
    const std::uint64_t device = device_named(words[0], name, number);
    const auto read = key_from_hex(words[1]);
    if (!read) bad_line(name, number, "a key must have 64 hex digits, not all 0");
    if (!keys_.emplace(device, *read).second)
      bad_line(name, number, "device " + std::to_string(device) + " is listed twice");
  });
  if (keys_.empty()) throw std::runtime_error(name + ": names no device; add a line `ID KEY`");
}

device_list::device_list(std::string_view text, const std::string& name) {
  for_each_line(text, name, [&](std::size_t number, const std::vector<std::string_view>& words) {
    if (words.size() != 1) bad_line(name, number, "with --tls-client-ca a line must have only a device id");
    const std::uint64_t device = device_named(words[0], name, number);
    if (!devices_.insert(device).second)
      bad_line(name, number, "device " + std::to_string(device) + " is listed twice");
  });
  if (devices_.empty()) throw std::runtime_error(name + ": names no device; add a line `ID`");
}

const device_key& device_keys::key_of(std::uint64_t device) const {
  const auto found = keys_.find(device);
  return found == keys_.end() ? nobody_ : found->second;
}

device_keys load_device_keys(const std::filesystem::path& file) {
  return device_keys(private_text(file), file.string());
}

device_list load_device_list(const std::filesystem::path& file) {
  return device_list(private_text(file), file.string());
}

device_key load_device_key(const std::filesystem::path& file) {
  const auto key = key_from_hex(only_word(file));
  if (!key) throw std::runtime_error(file.string() + ": a key must have 64 hex digits, not all 0");
  return *key;
}

secret_text secret_from_file(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) write_private(file, random_secret());
  secret_text secret = only_word(file);
  if (specverify::secret_from_hex(secret).is_missing())
    throw std::runtime_error(file.string() + ": a secret must have 32 hex digits, not all 0");
  return secret;
}

}  // namespace edge_cloud
