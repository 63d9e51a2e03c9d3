// SPDX-License-Identifier: Apache-2.0
//! Reads rows that an engine recorded: float32 in NumPy's file format, with the vocabulary as the last axis
//! (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#ifndef SPECVERIFY_BENCHMARKS_GOALS_NPY_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_NPY_HPP

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench_goals {

struct recorded_rows {
  std::string name;  //!< file name without extension
  std::uint32_t vocab_size = 0;
  std::vector<float> values;  //!< one row after another
};

//! Returns the sizes in "'shape': (24, 2, 49152), ".
inline std::vector<std::uint64_t> shape_of(const std::string& header) {
  std::vector<std::uint64_t> sizes;
  const std::size_t begin = header.find('(', header.find("'shape'")), end = header.find(')', begin);
  for (std::size_t at = begin; at < end; ++at) {
    if (std::isdigit(static_cast<unsigned char>(header[at])) == 0) continue;
    std::size_t digits = 0;
    sizes.push_back(std::stoull(header.substr(at), &digits));
    at += digits;
  }
  return sizes;
}

inline recorded_rows read_npy(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  unsigned char begin[12] = {};
  in.read(reinterpret_cast<char*>(begin), 10);
  if (!in || std::memcmp(begin, "\x93NUMPY", 6) != 0) throw std::runtime_error(file.string() + ": no .npy file");
  std::uint64_t length = begin[8] + 256u * begin[9];
  if (begin[6] != 1) {  // versions 2 and 3: four bytes
    in.read(reinterpret_cast<char*>(begin + 10), 2);
    length += 65536ull * begin[10] + 16777216ull * begin[11];
  }
  std::string header(length, ' ');
  in.read(header.data(), static_cast<std::streamsize>(length));
  const std::vector<std::uint64_t> shape = shape_of(header);
  const bool plain = header.find("'<f4'") != std::string::npos && header.find("False") != std::string::npos;
  if (!in || !plain || shape.empty() || shape.back() == 0 || shape.back() > UINT32_MAX)
    throw std::runtime_error(file.string() + ": not float32 in rows");
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape) count *= size;
  recorded_rows rows{file.stem().string(), static_cast<std::uint32_t>(shape.back()), std::vector<float>(count)};
  in.read(reinterpret_cast<char*>(rows.values.data()), static_cast<std::streamsize>(4 * count));
  if (!in || count == 0) throw std::runtime_error(file.string() + ": shorter than its header says");
  return rows;
}

//! Returns the .npy files of a folder, or the given file.
inline std::vector<std::filesystem::path> npy_files(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return {place};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace bench_goals

#endif
