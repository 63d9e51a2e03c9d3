// SPDX-License-Identifier: Apache-2.0
//! Keeps journals that no session accepts, for analysis. The journals outlive their sessions, but their total size is
//! limited.
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

  //! Moves the file into the folder. Its new name has the next number and the session's id. If the limit requires it,
  //! the oldest files are deleted first. Returns the new path, or an empty path if the file alone exceeds the limit.
  //! Throws if the disk fails.
  std::filesystem::path keep(const std::filesystem::path& file, std::uint64_t session_id) const;

 private:
  std::filesystem::path path_;
  const serve_limits& limits_;
};

}  // namespace edge_cloud

#endif
