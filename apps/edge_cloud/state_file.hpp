// SPDX-License-Identifier: Apache-2.0
//! The journal of one side: a file that records are appended to, and that now and then one record takes the place of.
//! What `write` was given survives a kill of the process at any moment after it.
#ifndef EDGE_CLOUD_STATE_FILE_HPP
#define EDGE_CLOUD_STATE_FILE_HPP

#include "file_bytes.hpp"
#include "serve/durable.hpp"

#include <specverify/session/output.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace edge_cloud {

[[nodiscard]] inline std::string unfinished_text(std::uint64_t bytes) {
  return "dropped " + std::to_string(bytes) + " bytes after the last whole record";
}

class state_file {
 public:
  //! `durable`: a record is on the disk, and survives a power cut, before `write` returns.
  explicit state_file(std::filesystem::path path, bool durable = false) : path_(std::move(path)), durable_(durable) {
    std::filesystem::create_directories(path_.parent_path());
  }

  //! What an earlier process left; empty when there was none.
  [[nodiscard]] std::vector<std::byte> load() const { return file_bytes(path_); }

  //! Drops the unfinished record after the first `bytes`, which a kill or a power cut left. Returns its bytes.
  std::uint64_t cut(std::size_t bytes) const {
    if (!std::filesystem::exists(path_)) return 0;
    const std::uint64_t dropped = std::filesystem::file_size(path_) - bytes;
    std::filesystem::resize_file(path_, bytes);
    sync(path_);  // an earlier process may have been killed before it synced its last record
    return dropped;
  }
  //! Does so, and tells the user.
  void drop_unfinished(std::size_t bytes) const {
    const std::uint64_t dropped = cut(bytes);
    if (dropped > 0) std::fprintf(stderr, "%s: %s\n", path_.c_str(), unfinished_text(dropped).c_str());
  }
  //! The next `load` finds nothing.
  void remove() {
    out_.close();
    std::filesystem::remove(path_);
  }
  //! A journal that the session does not take: it is kept under another name, for whoever wants to know why, and a new
  //! one begins.
  void set_aside(specverify::status why) const {
    if (why.code == specverify::errc::truncated)
      return drop_unfinished(0);  // killed in its first record: nothing was sent yet
    std::fprintf(stderr, "%s: %s; kept as %s\n", path_.c_str(), specverify::message(why.code),
                 next_to(".corrupt").c_str());
    std::filesystem::rename(path_, next_to(".corrupt"));
  }

  //! A record of a session. It is handed to the kernel before this returns, which is enough for a killed process.
  //! Throws std::system_error if the disk fails.
  void write(const specverify::session_output& record) {
    const bool named = !record.replaces && std::filesystem::exists(path_);
    if (record.replaces) {
      out_.close();
      std::filesystem::remove(next_to(".new"));  // of a process that was killed here
    }
    const std::filesystem::path file = record.replaces ? next_to(".new") : path_;
    append(file, record.bytes);
    sync(file);
    if (record.replaces) std::filesystem::rename(file, path_);  // the stream goes on in the file under its new name
    if (!named) sync(path_.parent_path());
  }

 private:
  [[nodiscard]] std::filesystem::path next_to(const char* suffix) const {
    std::filesystem::path made = path_;
    made += suffix;
    return made;
  }
  void sync(const std::filesystem::path& path) const {
    if (durable_) sync_to_disk(path);
  }
  void append(const std::filesystem::path& file, std::span<const std::byte> bytes) {
    errno = 0;
    if (!out_.is_open()) out_.open(file, std::ios::binary | std::ios::app);
    out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out_.flush();
    if (!out_) throw std::system_error(errno, std::generic_category(), "cannot write " + file.string());
  }

  std::filesystem::path path_;
  bool durable_;
  std::ofstream out_;
};

}  // namespace edge_cloud

#endif
