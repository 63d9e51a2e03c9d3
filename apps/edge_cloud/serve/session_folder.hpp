// SPDX-License-Identifier: Apache-2.0
//! What a server keeps of a session on disk: a folder with the owner's device id and the journal. Nothing is written
//! that would go beyond the journal's limit, in bytes of both files, or the disk's, in blocks of 4 KiB.
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

//! The disk that all sessions share, in bytes of blocks, folders included.
struct disk_share {
  std::uint64_t used = 0;
  std::uint64_t peak = 0;
};

class session_folder {
 public:
  //! Of the disk's share: the folder, its owner, and a first record.
  static constexpr std::uint64_t least_bytes = 3 * block_bytes;

  //! Of one session, at root / id in 16 hex digits. `durable`: its journal outlives a power cut. Touches no disk.
  session_folder(const std::filesystem::path& root, std::uint64_t id, bool durable, const serve_limits& limits,
                 disk_share& share);
  ~session_folder() { count(0); }
  session_folder(const session_folder&) = delete;
  session_folder& operator=(const session_folder&) = delete;

  //! The id that such a folder's name stands for.
  [[nodiscard]] static std::optional<std::uint64_t> id_of(const std::filesystem::path& folder);

  //! A new session, whose folder `create` makes. Touches no disk.
  void own(std::uint64_t owner) { awaited_owner_ = owner; }
  //! Makes the folder of a new session; otherwise does nothing. The owner stands in a file of its own, before anything
  //! else, and through a power cut. Throws where the disk fails.
  void create();
  //! Whether a folder of an earlier process was told of. One that it began to write, or to remove, was not.
  [[nodiscard]] bool has_owner() const;
  //! Of an earlier process; nothing where the file is not there, or does not say it. Throws where it cannot be read.
  [[nodiscard]] std::optional<std::uint64_t> owner() const;
  //! The journal of an earlier process; empty when there was none. Throws where it cannot be read.
  [[nodiscard]] std::vector<std::byte> load();
  //! Drops the bytes after the first `bytes` of the journal. Returns how many there were.
  std::uint64_t cut(std::size_t bytes);
  //! Keeps a journal that no session takes elsewhere, and begins a new one. The path where it is kept; empty where
  //! there was none, or no room for it. Throws where the disk fails.
  std::filesystem::path set_aside(const damaged_folder& to);
  //! Writes a record, or says which limit it is beyond: journal_full, disk_full. It makes the folder before. Throws
  //! where the disk fails.
  [[nodiscard]] refusal write(const specverify::session_output& record);
  //! Bytes of all records so far, replaced ones included.
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
  //! Of the disk's share.
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept { return counted_; }
  //! Nothing is left of the session. A process that is killed meanwhile leaves a folder without an owner.
  void remove();

 private:
  void count(std::uint64_t bytes);
  void count_files();

  std::filesystem::path path_;
  std::uint64_t id_;
  bool durable_;
  const serve_limits& limits_;
  disk_share& share_;
  std::optional<std::uint64_t> awaited_owner_;  // there is no folder yet
  std::unique_ptr<state_file> journal_;
  std::uint64_t owner_bytes_ = 0, journal_bytes_ = 0;
  std::uint64_t counted_ = 0;  // of the share
  std::uint64_t written_ = 0;
};

}  // namespace edge_cloud

#endif
