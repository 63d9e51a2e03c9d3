// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as the weight file of a window network. The result must be an error that leaves the weights alone, or
// weights that write the same file. An input: a byte, then the file (even byte), or changes of a good file, five bytes
// each: the place and the new byte. From 128 on the body writes the checksum anew, because otherwise it would hide the
// rest from a fuzzer.
#ifndef SPECVERIFY_TESTS_FUZZ_DQN_FILE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_DQN_FILE_BODY_HPP

#include <specverify/policy/dqn.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace specverify_fuzz {

inline std::vector<std::byte> dqn_file_of(std::span<const std::byte> input) {
  using namespace specverify;
  const unsigned kind = static_cast<unsigned>(input[0]);
  input = input.subspan(1);
  std::vector<std::byte> file(input.begin(), input.end());
  if (kind % 2 != 0) {
    static const std::vector<std::byte> good = [] {
      const auto weights = std::make_unique<dqn_weights>();
      std::vector<std::byte> made(dqn_file_bytes);
      if (!write_dqn(*weights, made).ok()) std::abort();
      return made;
    }();
    file = good;
    for (; input.size() >= 5; input = input.subspan(5)) {
      const auto place = static_cast<std::size_t>(numeric::load_le(input.data(), 4));
      if (place >= dqn_file_bytes + 16) file.resize(place % (dqn_file_bytes + 16));
      if (place < file.size()) file[place] = input[4];
    }
  }
  if (kind >= 128 && file.size() >= 8)
    numeric::store_le(file.data() + file.size() - 8, numeric::fnv1a(std::span(file).first(file.size() - 8)), 8);
  return file;
}

//! Returns true if the input is a file of weights.
inline bool dqn_file_input(std::span<const std::byte> input) {
  using namespace specverify;
  if (input.empty()) return false;
  const std::vector<std::byte> file = dqn_file_of(input);
  const auto weights = std::make_unique<dqn_weights>();
  weights->values.fill(7.0f);
  const auto read = read_dqn(file, weights->values);
  if (!read.ok()) {
    if (std::any_of(weights->values.begin(), weights->values.end(), [](float value) { return value < 7 || value > 7; }))
      std::abort();
    return false;
  }
  std::vector<std::byte> again(dqn_file_bytes);
  if (!write_dqn(*weights, again).ok() || again != file) std::abort();
  const auto window = dqn_window::make(*weights);
  if (!window.ok() || window->choose({}) >= dqn_actions) std::abort();
  return true;
}

}  // namespace specverify_fuzz

#endif
