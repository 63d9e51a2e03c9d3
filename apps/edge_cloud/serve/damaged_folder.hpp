// SPDX-License-Identifier: Apache-2.0
//! Keeps journals from which no session can be restored, for analysis. Journals stay in the folder after the sessions
//! are deleted, but the total size is limited.
#ifndef EDGE_CLOUD_SERVE_DAMAGED_FOLDER_HPP
#define EDGE_CLOUD_SERVE_DAMAGED_FOLDER_HPP

#include "serve_limits.hpp"

#include <filesystem>
#include <utility>

namespace edge_cloud {

class damaged_folder {
 public:
  //! The constructor does not access the disk. The limit `damaged_bytes` counts blocks of 4 KiB.
  damaged_folder(std::filesystem::path path, const serve_limits& limits) : path_(std::move(path)), limits_(limits) {}

  //! Moves the file into the folder. The new name consists of the next number and the session's id. Then the oldest
  //! files are deleted until all files are within the limit. Returns the new path, or an empty path if the file exceeds
  //! the limit by itself. Throws if the disk fails.
  std::filesystem::path keep(const std::filesystem::path& file, std::uint64_t session_id) const;

 private:
  std::filesystem::path path_;
  const serve_limits& limits_;
};

}  // namespace edge_cloud

#endif
