// SPDX-License-Identifier: Apache-2.0
//! Who may connect: a file of devices with their keys, or of devices whose certificates are taken.
//!
//! The file has a line `DEVICE-ID KEY` for each device: the id in decimal digits, the key as 64 hex digits. Empty lines
//! and lines that begin with # are left out. Key files of both sides are for their owner's eyes alone (chmod 600).
#ifndef EDGE_CLOUD_SERVE_DEVICE_KEYS_HPP
#define EDGE_CLOUD_SERVE_DEVICE_KEYS_HPP

#include "../secret_text.hpp"
#include "key_challenge.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace edge_cloud {

//! 64 hex digits, not all of them 0.
[[nodiscard]] std::optional<device_key> key_from_hex(std::string_view text);

class device_keys {
 public:
  //! Throws std::runtime_error that names the line and what is wrong with it: not two words, an id that is no number, a
  //! key that is not 64 hex digits or is zero, an id that stands twice; or that no device is named.
  explicit device_keys(std::string_view text, const std::string& name = "the list of devices");

  //! An unknown device has a key, too, which is random and which nobody has. So a connection cannot find out whether a
  //! device exists.
  [[nodiscard]] const device_key& key_of(std::uint64_t device) const;
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  //! Whether the device is known here, and by the key that it has there.
  [[nodiscard]] bool has_as_in(std::uint64_t device, const device_keys& other) const {
    const auto here = keys_.find(device), there = other.keys_.find(device);
    return here != keys_.end() && there != other.keys_.end() && here->second == there->second;
  }

 private:
  std::unordered_map<std::uint64_t, device_key> keys_;
  device_key nobody_ = random_bytes<device_key>();
};

//! Which devices may speak, where their certificates say who they are: a line `DEVICE-ID` for each, as above.
class device_list {
 public:
  //! Throws std::runtime_error that names the line and what is wrong with it: not one word, an id that is no number, an
  //! id that stands twice; or that no device is named.
  explicit device_list(std::string_view text, const std::string& name = "the list of devices");

  [[nodiscard]] bool has(std::uint64_t device) const { return devices_.contains(device); }

 private:
  std::unordered_set<std::uint64_t> devices_;
};

//! Throws as private_text and device_keys do.
[[nodiscard]] device_keys load_device_keys(const std::filesystem::path& file);
//! Throws as private_text and device_list do.
[[nodiscard]] device_list load_device_list(const std::filesystem::path& file);
//! The key of one device: a file of 64 hex digits. Throws as private_text does, and what is wrong with the key.
[[nodiscard]] device_key load_device_key(const std::filesystem::path& file);
//! A secret of 32 hex digits from a file that only its owner may read; made at random where there is no file yet.
//! Throws as private_text does, and what is wrong with the secret.
[[nodiscard]] secret_text secret_from_file(const std::filesystem::path& file);

}  // namespace edge_cloud

#endif
