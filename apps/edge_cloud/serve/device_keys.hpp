// SPDX-License-Identifier: Apache-2.0
//! Reads the devices that may connect: a file with keys of devices, or a list of devices with certificates.
//!
//! The file has a line `DEVICE-ID KEY` for each device: the id in decimal digits, the key as 64 hex digits. Empty lines
//! and lines that begin with # are ignored. Key files of both sides must be readable only by the owner (chmod 600).
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

//! Returns a key from 64 hex digits, which must not be all 0.
[[nodiscard]] std::optional<device_key> key_from_hex(std::string_view text);

class device_keys {
 public:
  //! Throws std::runtime_error with the line if it does not have two words, the id is not a number, the key is not 64
  //! hex digits or is zero, or an id is repeated. It also throws if there are no devices.
  explicit device_keys(std::string_view text, const std::string& name = "the list of devices");

  //! Returns the key of a device. For an unknown id it returns a random key that nobody has, so a peer cannot find out
  //! whether an id exists.
  [[nodiscard]] const device_key& key_of(std::uint64_t device) const;
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  //! Returns whether this list and `other` both have the device, with the same key.
  [[nodiscard]] bool has_as_in(std::uint64_t device, const device_keys& other) const {
    const auto here = keys_.find(device), there = other.keys_.find(device);
    return here != keys_.end() && there != other.keys_.end() && here->second == there->second;
  }

 private:
  std::unordered_map<std::uint64_t, device_key> keys_;
  device_key nobody_ = random_bytes<device_key>();
};

//! Devices that may connect if certificates identify them. The file has a line `DEVICE-ID` for each device.
class device_list {
 public:
  //! Throws std::runtime_error with the line if it does not have one word, the id is not a number, or an id is
  //! repeated. It also throws if there are no devices.
  explicit device_list(std::string_view text, const std::string& name = "the list of devices");

  [[nodiscard]] bool has(std::uint64_t device) const { return devices_.contains(device); }

 private:
  std::unordered_set<std::uint64_t> devices_;
};

//! Throws like private_text and device_keys.
[[nodiscard]] device_keys load_device_keys(const std::filesystem::path& file);
//! Throws like private_text and device_list.
[[nodiscard]] device_list load_device_list(const std::filesystem::path& file);
//! Returns the key of one device from a file of 64 hex digits. Throws like private_text, and if the key is invalid.
[[nodiscard]] device_key load_device_key(const std::filesystem::path& file);
//! Returns a secret of 32 hex digits from a file that only its owner may read. If the file is missing, it is created
//! with a random secret. Throws like private_text, and if the secret is invalid.
[[nodiscard]] secret_text secret_from_file(const std::filesystem::path& file);

}  // namespace edge_cloud

#endif
