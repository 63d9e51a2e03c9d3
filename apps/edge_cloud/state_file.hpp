// SPDX-License-Identifier: Apache-2.0
//! The journal of one side: an append-only file. What `append` was given survives a kill of the process at any moment
//! after it.
#ifndef EDGE_CLOUD_STATE_FILE_HPP
#define EDGE_CLOUD_STATE_FILE_HPP

#include "file_bytes.hpp"

#include <stdexcept>
#include <utility>

namespace edge_cloud {

class state_file {
 public:
  explicit state_file(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_.parent_path());
  }

  //! What an earlier process left; empty when there was none.
  [[nodiscard]] std::vector<std::byte> load() const { return file_bytes(path_); }

  //! Drops what stands behind the first `bytes`: a record that the kill cut off.
  void cut(std::size_t bytes) const {
    if (std::filesystem::exists(path_)) std::filesystem::resize_file(path_, bytes);
  }

  //! Hands the record to the kernel before it returns: enough for a killed process. A host that must outlive a power
  //! cut adds fsync.
  void append(std::span<const std::byte> record) {
    if (!out_.is_open()) out_.open(path_, std::ios::binary | std::ios::app);
    out_.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(record.size()));
    out_.flush();
    if (!out_) throw std::runtime_error("cannot write " + path_.string());
  }

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace edge_cloud

#endif
