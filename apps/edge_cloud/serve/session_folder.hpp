// SPDX-License-Identifier: Apache-2.0
//! Stores a session on a server's disk: the owner's device id and the journal. Nothing is written beyond the journal's
//! limit, in bytes of both files, or beyond the disk's limit, in blocks of 4 KiB.
#ifndef EDGE_CLOUD_SERVE_SESSION_FOLDER_HPP
#define EDGE_CLOUD_SERVE_SESSION_FOLDER_HPP

#include "../state_file.hpp"
#include "damaged_folder.hpp"
#include "disk_blocks.hpp"
#include "serve_limits.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace edge_cloud {

//! Disk usage of all sessions together, in bytes of whole blocks, including folders.
struct disk_share {
  std::uint64_t used = 0;
  std::uint64_t peak = 0;
};

class session_folder {
 public:
  //! Minimum disk space of a session: the folder, the owner, and a first record.
  static constexpr std::uint64_t least_bytes = 3 * block_bytes;

  //! Represents the folder of one session, ROOT/ID, with the id as 16 hex digits. If `durable` is true, the journal
  //! survives a power cut. The constructor does not access the disk.
  session_folder(const std::filesystem::path& root, std::uint64_t id, bool durable, const serve_limits& limits,
                 disk_share& share);
  ~session_folder() { count(0); }
  session_folder(const session_folder&) = delete;
  session_folder& operator=(const session_folder&) = delete;

  //! Returns the id in the name of a session's folder, or nothing if the name is not an id.
  [[nodiscard]] static std::optional<std::uint64_t> id_of(const std::filesystem::path& folder);

  //! Sets the owner of a new session. `create` makes the folder; this function does not access the disk.
  void own(std::uint64_t owner) { awaited_owner_ = owner; }
  //! Makes the folder of a new session, for which `own` must have been called; otherwise does nothing. The owner is
  //! written first, to a separate file, and survives a power cut. Throws if the disk fails.
  void create();
  //! Returns whether a folder of an earlier process is complete. A process that is killed while it creates or removes
  //! the folder leaves the folder without an owner.
  [[nodiscard]] bool has_owner() const;
  //! Returns the owner from an earlier process, or nothing if the file is missing or invalid. Throws if it cannot be
  //! read.
  [[nodiscard]] std::optional<std::uint64_t> owner() const;
  //! Returns the journal of an earlier process, or an empty one. Throws if it cannot be read.
  [[nodiscard]] std::vector<std::byte> load();
  //! Drops the bytes after the first `bytes` of the journal. Returns the number of bytes dropped.
  std::uint64_t cut(std::size_t bytes);
  //! Moves a journal that no session accepts to another folder, so that a new one can begin. Returns the new path, or
  //! an empty path if there was no journal or it is larger than the limit. Throws if the disk fails.
  std::filesystem::path set_aside(const damaged_folder& to);
  //! Writes a record, and makes the folder first. Returns the limit if the record would exceed it: journal_full,
  //! disk_full. Throws if the disk fails.
  [[nodiscard]] refusal write(const specverify::session_output& record);
  //! Returns the bytes of all records so far, including replaced records.
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
  //! Returns the session's share of the disk.
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept { return counted_; }
  //! Removes everything of the session. If the process is killed meanwhile, it leaves a folder without an owner.
  void remove();

 private:
  void count(std::uint64_t bytes);
  void count_files();

  std::filesystem::path path_;
  std::uint64_t id_;
  bool durable_;
  const serve_limits& limits_;
  disk_share& share_;
  std::optional<std::uint64_t> awaited_owner_;  // owner to write, while the folder does not exist
  std::unique_ptr<state_file> journal_;
  std::uint64_t owner_bytes_ = 0, journal_bytes_ = 0;
  std::uint64_t counted_ = 0;  // bytes that are counted in the disk usage
  std::uint64_t written_ = 0;
};

}  // namespace edge_cloud

#endif
