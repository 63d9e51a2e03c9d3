// SPDX-License-Identifier: Apache-2.0
#include "private_file.hpp"

#include "../../uninterrupted.hpp"
#include "durable.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace edge_cloud {

namespace fs = std::filesystem;

namespace {

constexpr mode_t others_write = S_IWGRP | S_IWOTH, others_all = S_IRWXG | S_IRWXO;

[[noreturn]] void reject(const fs::path& path, const std::string& why) {
  throw std::runtime_error(path.string() + ": " + why);
}

struct opened_file {
  int number;
  opened_file(const fs::path& path, int how) : number(::open(path.c_str(), how | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
    if (number < 0) throw std::system_error(errno, std::generic_category(), path.string() + ": cannot be opened");
  }
  ~opened_file() { ::close(number); }
  opened_file(const opened_file&) = delete;
  opened_file& operator=(const opened_file&) = delete;
};

struct stat facts_of(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) reject(path, std::generic_category().message(errno));
  return found;
}

void check_owner(const fs::path& path, const struct stat& found) {
  if (found.st_uid != ::geteuid())
    reject(path, "it belongs to another user; run: chown " + std::to_string(::geteuid()) + " " + path.string());
}

void check_owner_or_root(const fs::path& path, const struct stat& found) {
  if (found.st_uid != 0) check_owner(path, found);
}

void check_mode(const fs::path& path, const struct stat& found, mode_t forbidden, const std::string& mend) {
  if ((found.st_mode & forbidden) != 0) reject(path, mend + " " + path.string());
}

//! Checks that nobody else can replace `path` by writing to this folder or to a folder above it. `sticky` allows a
//! folder that has the sticky bit.
void check_folders(const fs::path& path, const fs::path& folder, bool sticky) {
  const struct stat found = facts_of(folder);
  if (found.st_uid != 0 && found.st_uid != ::geteuid())
    reject(path, "the owner of " + folder.string() + " can replace it; move it to a folder of your own");
  if ((found.st_mode & others_write) != 0 && !(sticky && (found.st_mode & S_ISVTX) != 0))
    reject(path, "others can replace it; run: chmod go-w " + folder.string());
  if (folder.has_relative_path()) check_folders(path, folder.parent_path(), true);
}

//! Checks the folders in the path as given, and in the path after symbolic links are followed.
void check_folders(const fs::path& path, bool sticky) {
  check_folders(path, fs::absolute(path).parent_path(), sticky);
  check_folders(path, fs::canonical(path).parent_path(), sticky);
}

struct stat regular_file(const fs::path& file) {
  if (!fs::is_regular_file(file)) reject(file, "there is no such file");
  check_folders(file, false);
  return facts_of(file);
}

}  // namespace

secret_text private_text(const fs::path& file) {
  const struct stat found = regular_file(file);
  check_owner(file, found);
  check_mode(file, found, others_all, "others may read it; run: chmod 600");
  const opened_file in(file, O_RDONLY);
  specverify::wiped<std::array<char, 4096>> piece;
  secret_text text;
  ssize_t got = 0;
  while ((got = programs::uninterrupted([&] { return ::read(in.number, piece.data(), piece.size()); })) > 0)
    text.append({piece.data(), static_cast<std::size_t>(got)});
  if (got < 0) reject(file, std::generic_category().message(errno));
  return text;
}

void check_unchanged_by_others(const fs::path& file) {
  const struct stat found = regular_file(file);
  check_owner_or_root(file, found);
  check_mode(file, found, others_write, "others may write to it; run: chmod go-w");
}

void check_private_folder(const fs::path& folder) {
  check_folders(folder, true);
  const struct stat found = facts_of(folder);
  check_owner(folder, found);
  check_mode(folder, found, others_all, "others may read it; run: chmod 700");
  for (const auto& inside : fs::recursive_directory_iterator(folder)) {
    if (inside.exists()) check_owner(inside.path(), facts_of(inside.path()));
  }
}

void write_private(const fs::path& file, std::string_view text) {
  fs::path fresh = file;
  fresh += ".new";
  fs::remove(fresh);  // an earlier process may have been killed at this point
  secret_text line(text);
  line.append("\n");
  {
    const opened_file out(fresh, O_WRONLY | O_CREAT | O_EXCL);
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t written = programs::uninterrupted([&] { return ::write(out.number, rest.data(), rest.size()); });
      if (written < 0) throw std::system_error(errno, std::generic_category(), fresh.string() + ": cannot be written");
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  sync_to_disk(fresh);
  fs::rename(fresh, file);
  sync_to_disk(fs::absolute(file).parent_path());
}

}  // namespace edge_cloud
