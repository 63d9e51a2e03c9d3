// SPDX-License-Identifier: Apache-2.0
#include "damaged_folder.hpp"

#include "disk_blocks.hpp"

#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <system_error>

namespace edge_cloud {

namespace fs = std::filesystem;

namespace {

struct kept_file {
  fs::path path;
  std::uint64_t bytes = 0;
};

//! Returns the files that have a number, the oldest first.
std::map<std::uint64_t, kept_file> kept_in(const fs::path& folder) {
  std::map<std::uint64_t, kept_file> found;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    std::uint64_t number = 0;
    const auto end = std::from_chars(name.data(), name.data() + name.size(), number).ptr;
    if (end == name.data() || *end != '-' || !file.is_regular_file()) continue;
    found[number] = {file.path(), in_blocks(file.file_size())};
  }
  return found;
}

}  // namespace

fs::path damaged_folder::keep(const fs::path& file, std::uint64_t session_id) const {
  fs::create_directories(path_);
  auto kept = kept_in(path_);
  const std::uint64_t number = kept.empty() ? 1 : kept.rbegin()->first + 1;
  char name[48];
  std::snprintf(name, sizeof name, "%08llu-%016llx", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(session_id));
  fs::rename(file, path_ / name);
  kept[number] = {path_ / name, in_blocks(fs::file_size(path_ / name))};
  std::uint64_t used = 0;
  for (const auto& [of, each] : kept) used += each.bytes;
  for (auto oldest = kept.begin(); oldest != kept.end(); ++oldest) {
    if (!exceeds("damaged_bytes", used, limits_.damaged_bytes)) break;
    fs::remove(oldest->second.path);
    used -= oldest->second.bytes;
  }
  return fs::exists(path_ / name) ? path_ / name : fs::path{};
}

}  // namespace edge_cloud
