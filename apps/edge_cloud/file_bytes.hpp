// SPDX-License-Identifier: Apache-2.0
//! A whole file, and what no text file of ours begins with.
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

//! Empty when there is none.
[[nodiscard]] inline std::vector<std::byte> file_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> read{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

//! Throws where the text of a file begins with a byte order mark, which editors do not show: its first word would be
//! another one than the reader sees.
inline void refuse_mark(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF") || text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw std::runtime_error(name + ": begins with a byte order mark; save it as UTF-8 without one");
}

}  // namespace edge_cloud

#endif
