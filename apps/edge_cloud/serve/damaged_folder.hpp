// SPDX-License-Identifier: Apache-2.0
//! Journals that no session accepts, kept for analysis. They outlive the sessions, within a limit.
#ifndef EDGE_CLOUD_SERVE_DAMAGED_FOLDER_HPP
#define EDGE_CLOUD_SERVE_DAMAGED_FOLDER_HPP

#include "serve_limits.hpp"

#include <filesystem>
#include <utility>

namespace edge_cloud {

class damaged_folder {
 public:
  //! Does not access the disk. The limit is `damaged_bytes`, in blocks of 4 KiB.
  damaged_folder(std::filesystem::path path, const serve_limits& limits) : path_(std::move(path)), limits_(limits) {}

  //! Moves the file into the folder, under the next number and the session's id; the oldest files make room. Returns
  //! the new path, or an empty path if the file exceeds the limit. Throws if the disk fails.
  std::filesystem::path keep(const std::filesystem::path& file, std::uint64_t session_id) const;

 private:
  std::filesystem::path path_;
  const serve_limits& limits_;
};

}  // namespace edge_cloud

#endif
