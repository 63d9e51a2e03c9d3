// SPDX-License-Identifier: Apache-2.0
// Replays the committed inputs of the fuzz target of window networks, and copies of them with changed bytes.
#include <doctest/doctest.h>

#include "fuzz/dqn_file_body.hpp"
#include "fuzz/tensor_seeds.hpp"

TEST_CASE("T29 fuzz replay: weight files of a window network") {
  // a good file; one with another weight, without and with its checksum; one that ends early; no such file
  const std::vector<std::string> seeds{"\x01", std::string("\x01\x50\0\0\0\x22", 6),
                                       std::string("\x81\x50\0\0\0\x22", 6), std::string("\x81\xff\xff\0\x7f\x22", 6),
                                       std::string("\x80SVDQN01", 8)};
  std::size_t files = 0, read = 0, refused = 0;
  specverify_fuzz::replay_corpus(
      "dqn_file", seeds,
      [&](std::span<const std::byte> bytes) {
        ++files;
        read += specverify_fuzz::dqn_file_input(bytes) ? 1u : 0u;
      },
      [&](std::span<const std::byte> bytes) { refused += specverify_fuzz::dqn_file_input(bytes) ? 0u : 1u; });
  CHECK(read >= 2);
  CHECK(refused > 50 * files);
}
