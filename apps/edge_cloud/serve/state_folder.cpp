// SPDX-License-Identifier: Apache-2.0
#include "state_folder.hpp"

#include <specverify/core/secret.hpp>

#include "device_keys.hpp"

#include <fstream>
#include <random>
#include <stdexcept>
#include <utility>

namespace edge_cloud {

namespace fs = std::filesystem;

state_folder::state_folder(fs::path path) : path_(std::move(path)) {
  try {
    fs::create_directories(path_);
    fs::permissions(path_, fs::perms::owner_all);
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error("--state-dir " + path_.string() + ": " + error.code().message());
  }
}

std::uint64_t state_folder::session_id(std::optional<std::uint64_t> given) const {
  const fs::path file = path_ / "session";
  std::string kept;
  std::ifstream(file) >> kept;
  if (!given && !kept.empty()) {
    const auto id = device_id_from(kept);
    if (!id) throw std::runtime_error(file.string() + ": this is no session id; remove the file, or give --session-id");
    return *id;
  }
  const std::uint64_t id = given ? *given : specverify::salt_from(std::random_device{});
  if (fs::exists(path_ / "journal")) return id;  // of a text that was begun: it says itself whose it is
  std::ofstream out(path_ / "session.new");
  out << id << '\n' << std::flush;
  if (!out) throw std::runtime_error(file.string() + ": cannot be written");
  fs::rename(path_ / "session.new", file);
  return id;
}

}  // namespace edge_cloud
