// SPDX-License-Identifier: Apache-2.0
//! The folder that a server or a device keeps between its lives. One process at a time uses it.
#ifndef EDGE_CLOUD_SERVE_STATE_FOLDER_HPP
#define EDGE_CLOUD_SERVE_STATE_FOLDER_HPP

#include "../secret_text.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace edge_cloud {

class state_folder {
 public:
  //! Made where it is missing, for its owner alone, and held until this object or the process ends. From here on all
  //! files of the process are for its user alone. Throws std::runtime_error: it cannot be made, others may read it, it
  //! belongs to another user, or another process holds it.
  explicit state_folder(std::filesystem::path path);
  ~state_folder();
  state_folder(const state_folder&) = delete;
  state_folder& operator=(const state_folder&) = delete;

  //! The id of the folder's session: the given one, that of a text that was begun, or a random one. Throws
  //! std::runtime_error: the file `session` holds none.
  [[nodiscard]] std::uint64_t session_id(std::optional<std::uint64_t> given) const;
  //! The secret in the given file or, where that is empty, in the folder's file `secret`; drawn where there is none.
  //! Throws std::runtime_error: others may read it, or it is no secret.
  [[nodiscard]] secret_text secret(const std::filesystem::path& given) const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // a descriptor: the system closes it however the process ends
};

}  // namespace edge_cloud

#endif
