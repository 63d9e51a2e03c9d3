// SPDX-License-Identifier: Apache-2.0
// The bytes of every message are the ones in tests/wire/golden.txt, on every machine (the s390x leg is big-endian).
// decode_golden_test.py reads the same file with a decoder of its own. SPECVERIFY_WRITE_GOLDEN=1 writes it anew.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "wire/golden_messages.hpp"

using namespace specverify;

namespace {

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", std::to_integer<unsigned>(byte));
    text += pair;
  }
  return text;
}

}  // namespace

TEST_CASE("golden bytes of every message") {
  const auto all = specverify_test::golden_messages();
  if (std::getenv("SPECVERIFY_WRITE_GOLDEN") != nullptr) {
    std::ofstream file("tests/wire/golden.txt");
    for (const auto& message : all) file << message.name << ' ' << hex(message.bytes) << '\n';
  }
  std::ifstream file("tests/wire/golden.txt");
  REQUIRE(file.good());
  std::map<std::string, std::string> golden;
  for (std::string name, bytes; file >> name >> bytes;) golden[name] = bytes;
  CHECK(golden.size() == all.size());
  for (const auto& message : all) {
    CAPTURE(message.name);
    REQUIRE(!message.bytes.empty());
    CHECK(golden[message.name] == hex(message.bytes));
  }
}
