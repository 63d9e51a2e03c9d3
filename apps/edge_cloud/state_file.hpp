// SPDX-License-Identifier: Apache-2.0
//! Stores the journal of one side in a file. Records are appended, and sometimes one record replaces all earlier ones.
//! A record that was passed to `write` survives if the process is killed later.
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
  //! If `durable` is true, `write` returns only after the record is on the disk, where it survives a power cut.
  explicit state_file(std::filesystem::path path, bool durable = false) : path_(std::move(path)), durable_(durable) {
    std::filesystem::create_directories(path_.parent_path());
  }

  //! Returns the contents from an earlier process, or an empty vector.
  [[nodiscard]] std::vector<std::byte> load() const { return file_bytes(path_); }

  //! Drops the bytes after the first `bytes`, which are an unfinished record after a kill or a power cut. Returns the
  //! number of dropped bytes.
  std::uint64_t cut(std::size_t bytes) const {
    if (!std::filesystem::exists(path_)) return 0;
    const std::uint64_t dropped = std::filesystem::file_size(path_) - bytes;
    std::filesystem::resize_file(path_, bytes);
    sync(path_);  // an earlier process may have been killed before it synced its last record
    return dropped;
  }
  //! Drops the unfinished record and tells the user.
  void drop_unfinished(std::size_t bytes) const {
    const std::uint64_t dropped = cut(bytes);
    if (dropped > 0) std::fprintf(stderr, "%s: %s\n", path_.c_str(), unfinished_text(dropped).c_str());
  }
  //! Removes the journal, so that the next `load` returns nothing.
  void remove() {
    out_.close();
    std::filesystem::remove(path_);
  }
  //! Renames a journal that the session does not accept, so that it is kept for analysis and a new journal can begin.
  void set_aside(specverify::status why) const {
    if (why.code == specverify::errc::truncated)
      return drop_unfinished(0);  // the process was killed during the first record, so it has sent nothing yet
    std::fprintf(stderr, "%s: %s; kept as %s\n", path_.c_str(), why.text().c_str(), next_to(".corrupt").c_str());
    std::filesystem::rename(path_, next_to(".corrupt"));
  }

  //! Writes a record of a session. When this function returns, the kernel has the record, so a killed process does not
  //! lose it. Throws std::system_error if the disk fails.
  void write(const specverify::session_output& record) {
    const bool named = !record.replaces && std::filesystem::exists(path_);
    if (record.replaces) {
      out_.close();
      std::filesystem::remove(next_to(".new"));  // an earlier process may have been killed at this point
    }
    const std::filesystem::path file = record.replaces ? next_to(".new") : path_;
    append(file, record.bytes);
    sync(file);
    if (record.replaces) std::filesystem::rename(file, path_);  // the stream continues in the renamed file
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
