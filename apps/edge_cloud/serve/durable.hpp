// SPDX-License-Identifier: Apache-2.0
//! Syncs files and folders, so that they survive a power cut.
#ifndef EDGE_CLOUD_SERVE_DURABLE_HPP
#define EDGE_CLOUD_SERVE_DURABLE_HPP

#include "../../uninterrupted.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace edge_cloud {

//! Waits until a file, or the names in a folder, are on the disk. Throws std::system_error if the disk fails.
inline void sync_to_disk(const std::filesystem::path& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = opened >= 0 && programs::uninterrupted([&] { return ::fsync(opened); }) == 0;
  const int why = errno;
  if (opened >= 0) ::close(opened);
  if (!done) throw std::system_error(why, std::generic_category(), path.string() + ": cannot be written");
}

//! Creates the missing folders of a path, and syncs each new name. Returns false if the folder existed. Throws if the
//! disk fails.
inline bool make_folders(const std::filesystem::path& path) {
  // the path ends with a slash
  if (!path.has_filename() && path.has_relative_path()) return make_folders(path.parent_path());
  if (std::filesystem::exists(path)) return false;
  const std::filesystem::path above = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  make_folders(above);
  const bool made = std::filesystem::create_directory(path);
  sync_to_disk(above);
  return made;
}

}  // namespace edge_cloud

#endif
