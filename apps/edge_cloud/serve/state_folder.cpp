// SPDX-License-Identifier: Apache-2.0
#include "state_folder.hpp"

#include <specverify/core/secret.hpp>

#include "../whole_number.hpp"
#include "device_keys.hpp"
#include "durable.hpp"
#include "private_file.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace edge_cloud {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& folder, const std::string& why) {
  throw std::runtime_error("--state-dir " + folder.string() + ": " + why);
}

//! Makes the folder private, because it holds prompts, texts and secrets. Throws if others could read an existing
//! folder, because only its owner can decide what to do.
void make_private(const fs::path& folder) {
  try {
    if (make_folders(folder)) fs::permissions(folder, fs::perms::owner_all);
    of_option("--state-dir", [&] { check_private_folder(folder); });
  } catch (const std::system_error& error) {
    fail(folder, error.code().message());
  }
}

//! Locks the folder, because two processes would write to the same journal, and could give one session two owners.
int locked(const fs::path& folder) {
  const int file = ::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) fail(folder, std::generic_category().message(errno));
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const int why = errno;
  ::close(file);
  if (why != EWOULDBLOCK) fail(folder, std::generic_category().message(why));
  fail(folder, "another process uses this folder; end it first, or give another --state-dir");
}

}  // namespace

state_folder::state_folder(fs::path path) : path_(std::move(path)) {
  ::umask(S_IRWXG | S_IRWXO);  // this applies to all files of the process
  make_private(path_);
  lock_ = locked(path_);
}

state_folder::~state_folder() { ::close(lock_); }

std::uint64_t state_folder::session_id(std::optional<std::uint64_t> given) const {
  const fs::path file = path_ / "session";
  std::ifstream in(file);
  std::string kept{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (kept.ends_with('\n')) kept.pop_back();
  const bool begun = fs::exists(path_ / "journal");
  if (!given && !kept.empty()) {
    const auto id = whole_number_from(kept);
    if (!id) throw std::runtime_error(file.string() + ": not a session id; remove the file, or give --session-id");
    if (begun) return *id;
  }
  const std::uint64_t id = given ? *given : specverify::salt_from(std::random_device{});
  if (begun) return id;  // the journal of an unfinished text has the id
  write_private(file, std::to_string(id));
  return id;
}

secret_text state_folder::secret(const fs::path& given) const {
  return of_option("--secret-file", [&] { return secret_from_file(given.empty() ? path_ / "secret" : given); });
}

}  // namespace edge_cloud
