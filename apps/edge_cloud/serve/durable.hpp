// SPDX-License-Identifier: Apache-2.0
//! What has to stand on the disk after a power cut, too.
#ifndef EDGE_CLOUD_SERVE_DURABLE_HPP
#define EDGE_CLOUD_SERVE_DURABLE_HPP

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace edge_cloud {

//! Waits until a file, or the names in a folder, are on the disk. Throws std::system_error where the disk fails.
inline void sync_to_disk(const std::filesystem::path& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = opened >= 0 && ::fsync(opened) == 0;
  const int why = errno;
  if (opened >= 0) ::close(opened);
  if (!done) throw std::system_error(why, std::generic_category(), path.string() + ": cannot be written");
}

}  // namespace edge_cloud

#endif
