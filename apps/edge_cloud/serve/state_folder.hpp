// SPDX-License-Identifier: Apache-2.0
//! Opens the folder that a server or a device keeps between processes. Only one process at a time may use the folder.
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
  //! Creates the folder if it is missing, accessible only to its owner, and locks it until this object or the process
  //! ends. From this call on, only this user can access the files that the process writes. Throws std::runtime_error if
  //! the folder cannot be created, others may read it, another user owns it, or another process has locked it.
  explicit state_folder(std::filesystem::path path);
  ~state_folder();
  state_folder(const state_folder&) = delete;
  state_folder& operator=(const state_folder&) = delete;

  //! Returns the id of the folder's session: the given id, the id of an unfinished text, or a random id. Throws
  //! std::runtime_error if no id is given and the file `session` has no valid id.
  [[nodiscard]] std::uint64_t session_id(std::optional<std::uint64_t> given) const;
  //! Returns the secret in the given file, or in the folder's file `secret` if no file is given; if this file is
  //! missing, a random secret is written to it. Throws std::runtime_error if others may read the file or it has no
  //! valid secret.
  [[nodiscard]] secret_text secret(const std::filesystem::path& given) const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // the system closes this descriptor even if the process is killed
};

}  // namespace edge_cloud

#endif
