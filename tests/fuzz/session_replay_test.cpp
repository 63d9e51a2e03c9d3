// SPDX-License-Identifier: Apache-2.0
// The committed scripts of the session's fuzz target, and some made by a fixed generator.
#include <doctest/doctest.h>

#include "fuzz/session_body.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

TEST_CASE("T29 NET-7 fuzz replay: scripts of the session") {
  std::size_t scripts = 0;
  const std::filesystem::path folder = "tests/fuzz/corpus/session";
  if (std::filesystem::exists(folder)) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(file.path(), std::ios::binary);
      const std::vector<char> content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      specverify_fuzz::session_input(std::as_bytes(std::span<const char>(content)));
      ++scripts;
    }
  }
  CHECK(scripts > 0);
  specverify_test::dice dice(11);
  for (int i = 0; i < 900; ++i) {
    std::vector<std::byte> script(1 + dice.below(300));
    for (std::byte& b : script) b = static_cast<std::byte>(dice.next());
    specverify_fuzz::session_input(script);
  }
}
