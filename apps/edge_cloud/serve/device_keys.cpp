// SPDX-License-Identifier: Apache-2.0
#include "device_keys.hpp"

#include "../whole_number.hpp"
#include "private_file.hpp"

#include <specverify/core/numeric.hpp>
#include <specverify/core/secret.hpp>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace edge_cloud {

namespace {

[[noreturn]] void bad_line(const std::string& name, std::size_t line, const std::string& what) {
  throw std::runtime_error(name + ", line " + std::to_string(line) + ": " + what);
}

//! `take(number, words)` for each line that is neither empty nor a comment.
template <class Take>
void for_each_line(std::string_view text, Take&& take) {
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream in(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    if (!words.empty() && words.front().front() != '#') take(number, words);
  }
}

std::uint64_t device_named(const std::string& word, const std::string& name, std::size_t line) {
  const auto device = whole_number_from(word);
  if (!device) bad_line(name, line, "a device id is a number of decimal digits below 2^64, without leading zeros");
  return *device;
}

//! Empty if the file has no word, or more than one.
std::string only_word(const std::filesystem::path& file) {
  std::istringstream words(private_text(file));
  std::string word, more;
  words >> word;
  return words >> more ? std::string() : word;
}

std::string random_secret() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("the system gives no random bytes");
  std::string text;
  for (const unsigned byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15u];
  }
  return text;
}

}  // namespace

std::array<std::byte, first_frame_bytes> first_frame(std::uint64_t device, const device_key& key) {
  std::array<std::byte, first_frame_bytes> made{};
  specverify::numeric::store_le(made.data(), device, 8);
  std::copy(key.begin(), key.end(), made.begin() + 8);
  return made;
}

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
  for_each_line(text, [&](std::size_t number, const std::vector<std::string>& words) {
    if (words.size() != 2) bad_line(name, number, "a line is a device id and its key, with a space");
    const std::uint64_t device = device_named(words[0], name, number);
    const auto read = key_from_hex(words[1]);
    if (!read) bad_line(name, number, "a key is 64 hex digits, not all of them 0");
    if (!keys_.emplace(device, *read).second) bad_line(name, number, "device " + words[0] + " stands here twice");
  });
  if (keys_.empty()) throw std::runtime_error(name + ": names no device; add a line `ID KEY`");
}

device_list::device_list(std::string_view text, const std::string& name) {
  for_each_line(text, [&](std::size_t number, const std::vector<std::string>& words) {
    if (words.size() != 1) bad_line(name, number, "with --tls-client-ca a line is a device id and nothing else");
    const std::uint64_t device = device_named(words[0], name, number);
    if (!devices_.insert(device).second) bad_line(name, number, "device " + words[0] + " stands here twice");
  });
  if (devices_.empty()) throw std::runtime_error(name + ": names no device; add a line `ID`");
}

std::optional<std::uint64_t> device_keys::device_of(std::span<const std::byte> frame) const {
  if (frame.size() != first_frame_bytes) return std::nullopt;
  const std::uint64_t device = specverify::numeric::load_le(frame.data(), 8);
  // An unknown id is compared too, with a key that no file can hold.
  static constexpr device_key nobody{};
  const auto found = keys_.find(device);
  const device_key& key = found == keys_.end() ? nobody : found->second;
  const bool same = CRYPTO_memcmp(frame.data() + 8, key.data(), key.size()) == 0;
  if (!same || found == keys_.end()) return std::nullopt;
  return device;
}

device_keys load_device_keys(const std::filesystem::path& file) {
  return device_keys(private_text(file), file.string());
}

device_list load_device_list(const std::filesystem::path& file) {
  return device_list(private_text(file), file.string());
}

device_key load_device_key(const std::filesystem::path& file) {
  const auto key = key_from_hex(only_word(file));
  if (!key) throw std::runtime_error(file.string() + ": a key is 64 hex digits, not all of them 0");
  return *key;
}

std::string secret_from_file(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) write_private(file, random_secret());
  std::string secret = only_word(file);
  if (specverify::secret_from_hex(secret).is_missing())
    throw std::runtime_error(file.string() + ": a secret is 32 hex digits, not all of them 0");
  return secret;
}

}  // namespace edge_cloud
