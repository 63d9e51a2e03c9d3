// SPDX-License-Identifier: Apache-2.0
//! Files that this user alone may read or change: keys, secrets, lists of devices, state.
//!
//! A path is safe if nobody else can put another file in its place: each folder on it belongs to this user or to root,
//! and others may not write to it. Above the file's own folder, a folder with the sticky bit (/tmp) is safe, too.
#ifndef EDGE_CLOUD_SERVE_PRIVATE_FILE_HPP
#define EDGE_CLOUD_SERVE_PRIVATE_FILE_HPP

#include "../secret_text.hpp"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace edge_cloud {

//! The text of a file that only this user may read, at a safe path. Leaves no other copy in memory. Throws
//! std::runtime_error that names the file, what is wrong with it or with its path, and the command that mends it.
[[nodiscard]] secret_text private_text(const std::filesystem::path& file);

//! Checks a file that others may read, but not change, such as a certificate: it belongs to this user or to root, and
//! its path is safe. Throws as private_text does.
void check_unchanged_by_others(const std::filesystem::path& file);

//! Checks a folder at a safe path that only this user may enter, and that everything in it belongs to this user. Throws
//! as private_text does.
void check_private_folder(const std::filesystem::path& folder);

//! Writes or replaces a file with one line that only this user may read. The file survives a power cut. Throws
//! std::system_error: it cannot be written.
void write_private(const std::filesystem::path& file, std::string_view text);

//! What `load` gives; what it throws names the option that has the file.
template <class Load>
[[nodiscard]] auto of_option(const std::string& option, Load&& load) {
  try {
    return load();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(option + " " + error.what());
  }
}

}  // namespace edge_cloud

#endif
