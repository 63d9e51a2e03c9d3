// SPDX-License-Identifier: Apache-2.0
// Files in the form of safetensors: the length of a header, the header, tensors. They are seeds of rows_file and
// model_file, and the replays change copies of them.
#ifndef SPECVERIFY_TESTS_FUZZ_TENSOR_SEEDS_HPP
#define SPECVERIFY_TESTS_FUZZ_TENSOR_SEEDS_HPP

#include "fuzz/corpus.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace specverify_fuzz {

//! Makes a header, filled up with spaces to a multiple of 8, and `size` bytes of small numbers.
inline std::string tensor_file_of(std::string header, std::size_t size) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(std::uint64_t{header.size()} >> (8 * i) & 255u);
  file += header;
  for (std::size_t i = 0; i < size; ++i) file += static_cast<char>(i % 4 == 0 ? i / 4 % 3 : 0);
  return file;
}

//! Calls `use(bytes)` for each input of a target's corpus, and `use_changed(bytes)` for copies with other bytes or
//! another end. If SPECVERIFY_WRITE_CORPUS=1, writes the seeds first.
template <class Use, class UseChanged>
void replay_corpus(const std::string& target, const std::vector<std::string>& seeds, const Use& use,
                   const UseChanged& use_changed) {
  for (std::size_t i = 0; i < seeds.size() && writes_corpus(); ++i)
    keep_input(target, "seed" + std::to_string(i), seeds[i]);
  std::uint64_t state = 88172645463325252u;
  const auto below = [&state](std::size_t size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>((state >> 32) * size >> 32);
  };
  for (const auto& [name, content] : corpus_of(target)) {
    use(std::span<const std::byte>(content));
    for (int i = 0; i < 500 && !content.empty(); ++i) {
      std::vector<std::byte> changed = content;
      for (std::size_t n = below(3); n < 3; ++n) changed[below(changed.size())] = static_cast<std::byte>(below(256));
      if (below(4) == 0) changed.resize(below(changed.size() + 8));
      use_changed(std::span<const std::byte>(changed));
    }
  }
}

}  // namespace specverify_fuzz

#endif
