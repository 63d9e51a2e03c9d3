// SPDX-License-Identifier: Apache-2.0
//! Reads and writes files that only this user may read or change: keys, secrets, lists of devices, state.
//!
//! A path is safe if nobody else can replace the file: each folder in it must belong to this user or to root, and
//! others must not have write access. Above the file's own folder, a folder with the sticky bit (/tmp) is safe, too.
#ifndef EDGE_CLOUD_SERVE_PRIVATE_FILE_HPP
#define EDGE_CLOUD_SERVE_PRIVATE_FILE_HPP

#include "../secret_text.hpp"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace edge_cloud {

//! Returns the text of a file that only this user may read, at a safe path. Memory then contains no other copy of the
//! text. Throws std::runtime_error with the file, the problem of the file or path, and a command that solves it.
[[nodiscard]] secret_text private_text(const std::filesystem::path& file);

//! Checks a file that others may read but must not change, for example a certificate: it must belong to this user or to
//! root, at a safe path. Throws like private_text.
void check_unchanged_by_others(const std::filesystem::path& file);

//! Checks a folder at a safe path that only this user may enter. Everything in it must belong to this user. Throws like
//! private_text.
void check_private_folder(const std::filesystem::path& folder);

//! Writes or replaces a file with one line that only this user may read. The file survives a power cut. Throws
//! std::system_error if it cannot be written.
void write_private(const std::filesystem::path& file, std::string_view text);

//! Returns the result of `load`, and adds the option's name to exceptions.
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
