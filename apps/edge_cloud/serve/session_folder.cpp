// SPDX-License-Identifier: Apache-2.0
#include "session_folder.hpp"

#include "../whole_number.hpp"
#include "durable.hpp"
#include "private_file.hpp"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace edge_cloud {

namespace fs = std::filesystem;

namespace {

std::string hex_name(std::uint64_t id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

}  // namespace

session_folder::session_folder(const fs::path& root, std::uint64_t id, bool durable, const serve_limits& limits,
                               disk_share& share)
    : path_(root / hex_name(id)), id_(id), durable_(durable), limits_(limits), share_(share) {}

std::optional<std::uint64_t> session_folder::id_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id, 16);
  if (error != std::errc{} || end != name.data() + name.size() || name != hex_name(id)) return std::nullopt;
  return id;
}

void session_folder::create() {
  if (!awaited_owner_) return;
  const std::uint64_t owner = *std::exchange(awaited_owner_, std::nullopt);
  fs::remove_all(path_);  // an earlier process may have left a folder without an owner
  fs::create_directories(path_);
  write_private(path_ / "owner", std::to_string(owner));
  sync_to_disk(path_.parent_path());
  owner_bytes_ = size_of(path_ / "owner");
  count_files();
}

bool session_folder::has_owner() const { return fs::exists(fs::symlink_status(path_ / "owner")); }

std::optional<std::uint64_t> session_folder::owner() const {
  if (!has_owner()) return std::nullopt;
  errno = 0;
  std::ifstream in(path_ / "owner");
  std::string line;
  const bool whole = std::getline(in, line) && !in.eof() && in.peek() == std::ifstream::traits_type::eof();
  if (!in.is_open() || in.bad()) throw std::system_error(errno, std::generic_category(), "its owner cannot be read");
  return whole ? whole_number_from(line) : std::nullopt;
}

std::vector<std::byte> session_folder::load() {
  fs::remove(path_ / "journal.new");  // an earlier process may have been killed while it wrote this file
  journal_ = std::make_unique<state_file>(path_ / "journal", durable_);
  std::vector<std::byte> kept = journal_->load();
  owner_bytes_ = size_of(path_ / "owner");
  journal_bytes_ = kept.size();
  if (journal_bytes_ != size_of(path_ / "journal")) throw std::runtime_error("its journal cannot be read");
  count_files();
  return kept;
}

std::uint64_t session_folder::cut(std::size_t bytes) {
  const std::uint64_t dropped = journal_->cut(bytes);
  journal_bytes_ = size_of(path_ / "journal");
  count_files();
  return dropped;
}

fs::path session_folder::set_aside(const damaged_folder& to) {
  journal_.reset();
  const fs::path journal = path_ / "journal";
  const fs::path kept = size_of(journal) > 0 ? to.keep(journal, id_) : fs::path{};
  fs::remove(journal);
  journal_bytes_ = 0;
  count_files();
  return kept;
}

refusal session_folder::write(const specverify::session_output& record) {
  create();
  // While a new journal replaces the old one, both files exist on the disk.
  const std::uint64_t both = journal_bytes_ + record.bytes.size();
  const std::uint64_t grown =
      record.replaces ? in_blocks(record.bytes.size()) : in_blocks(both) - in_blocks(journal_bytes_);
  if (exceeds(refusal::journal_full, owner_bytes_ + both, limits_.journal_bytes)) return refusal::journal_full;
  if (exceeds(refusal::disk_full, share_.used + grown, limits_.disk_bytes)) return refusal::disk_full;
  if (!journal_) journal_ = std::make_unique<state_file>(path_ / "journal", durable_);
  journal_->write(record);
  written_ += record.bytes.size();
  count(counted_ + grown);
  journal_bytes_ = record.replaces ? record.bytes.size() : both;
  count_files();
  return refusal::none;
}

void session_folder::remove() {
  if (awaited_owner_) return;
  journal_.reset();
  std::error_code kept;
  fs::remove(path_ / "owner", kept);
  fs::remove_all(path_, kept);
  owner_bytes_ = journal_bytes_ = 0;
  count(0);
}

void session_folder::count_files() { count(block_bytes + in_blocks(owner_bytes_) + in_blocks(journal_bytes_)); }

void session_folder::count(std::uint64_t bytes) {
  share_.used = share_.used - counted_ + bytes;
  share_.peak = std::max(share_.peak, share_.used);
  counted_ = bytes;
}

}  // namespace edge_cloud
