// SPDX-License-Identifier: Apache-2.0
// Files of the form that safetensors has: the length of a header, the header, tensors. Seeds of rows_file and
// model_file, and changed copies for their replays.
#ifndef SPECVERIFY_TESTS_FUZZ_TENSOR_SEEDS_HPP
#define SPECVERIFY_TESTS_FUZZ_TENSOR_SEEDS_HPP

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace specverify_fuzz {

//! A header, filled up with spaces to a multiple of 8, and `size` bytes of small numbers.
inline std::string tensor_file_of(std::string header, std::size_t size) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(std::uint64_t{header.size()} >> (8 * i) & 255u);
  file += header;
  for (std::size_t i = 0; i < size; ++i) file += static_cast<char>(i % 4 == 0 ? i / 4 % 3 : 0);
  return file;
}

//! Calls `use(bytes)` for each file of a corpus, and `use_changed(bytes)` for copies with other bytes or another end.
//! SPECVERIFY_WRITE_CORPUS=1 writes the seeds first.
template <class Use, class UseChanged>
void replay_corpus(const std::filesystem::path& folder, const std::vector<std::string>& seeds, const Use& use,
                   const UseChanged& use_changed) {
  if (std::getenv("SPECVERIFY_WRITE_CORPUS") != nullptr) {
    std::filesystem::create_directories(folder);
    for (std::size_t i = 0; i < seeds.size(); ++i)
      std::ofstream(folder / ("seed" + std::to_string(i)), std::ios::binary) << seeds[i];
  }
  std::uint64_t state = 88172645463325252u;
  const auto below = [&state](std::size_t size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>((state >> 32) * size >> 32);
  };
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    use(std::as_bytes(std::span<const char>(content)));
    for (int i = 0; i < 500 && !content.empty(); ++i) {
      std::string changed = content;
      for (std::size_t n = below(3); n < 3; ++n) changed[below(changed.size())] = static_cast<char>(below(256));
      if (below(4) == 0) changed.resize(below(changed.size() + 8), '\0');
      use_changed(std::as_bytes(std::span<const char>(changed)));
    }
  }
}

}  // namespace specverify_fuzz

#endif
