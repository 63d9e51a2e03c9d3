// SPDX-License-Identifier: Apache-2.0
//! The folder that a server or a device keeps between its lives.
#ifndef EDGE_CLOUD_SERVE_STATE_FOLDER_HPP
#define EDGE_CLOUD_SERVE_STATE_FOLDER_HPP

#include <cstdint>
#include <filesystem>
#include <optional>

namespace edge_cloud {

class state_folder {
 public:
  //! Made where it is missing, for its owner alone. Throws std::runtime_error: it cannot be made.
  explicit state_folder(std::filesystem::path path);
  state_folder(const state_folder&) = delete;
  state_folder& operator=(const state_folder&) = delete;

  //! The id of the folder's session: the given one, that of an earlier life, or a random one. Throws
  //! std::runtime_error: the file `session` holds none.
  [[nodiscard]] std::uint64_t session_id(std::optional<std::uint64_t> given) const;

 private:
  std::filesystem::path path_;
};

}  // namespace edge_cloud

#endif
