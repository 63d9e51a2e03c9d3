// SPDX-License-Identifier: Apache-2.0
//! A whole file.
#ifndef EDGE_CLOUD_FILE_BYTES_HPP
#define EDGE_CLOUD_FILE_BYTES_HPP

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

namespace edge_cloud {

//! Empty when there is none.
[[nodiscard]] inline std::vector<std::byte> file_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> read{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

}  // namespace edge_cloud

#endif
