// SPDX-License-Identifier: Apache-2.0
//! Reads a whole file, and rejects byte order marks.
#ifndef EDGE_CLOUD_FILE_BYTES_HPP
#define EDGE_CLOUD_FILE_BYTES_HPP

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace edge_cloud {

//! Returns the bytes of the file, or an empty vector if the file does not exist.
[[nodiscard]] inline std::vector<std::byte> file_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> read{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

//! Throws if a text begins with a byte order mark. Editors do not show this mark, so the first word would differ from
//! the word on the screen.
inline void refuse_mark(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF") || text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw std::runtime_error(name + ": begins with a byte order mark; save it as UTF-8 without one");
}

}  // namespace edge_cloud

#endif
