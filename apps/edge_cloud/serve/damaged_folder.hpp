// SPDX-License-Identifier: Apache-2.0
//! Journals that no session takes, for whoever wants to know why. They outlive their sessions, within a limit.
#ifndef EDGE_CLOUD_SERVE_DAMAGED_FOLDER_HPP
#define EDGE_CLOUD_SERVE_DAMAGED_FOLDER_HPP

#include "serve_limits.hpp"

#include <filesystem>
#include <utility>

namespace edge_cloud {

class damaged_folder {
 public:
  //! Touches no disk. The limit is `damaged_bytes`, in blocks of 4 KiB.
  damaged_folder(std::filesystem::path path, const serve_limits& limits) : path_(std::move(path)), limits_(limits) {}

  //! Moves the file in, under the next number and the session's id; the oldest ones make room. The new name;
  //! empty where the limit is too small for it. Throws where the disk fails.
  std::filesystem::path keep(const std::filesystem::path& file, std::uint64_t session_id) const;

 private:
  std::filesystem::path path_;
  const serve_limits& limits_;
};

}  // namespace edge_cloud

#endif
