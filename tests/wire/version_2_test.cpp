// SPDX-License-Identifier: Apache-2.0
// Version 2 and this one refuse each other by name. tests/wire/version_2.txt has messages that version 2 wrote: the
// golden hello and resume of its page, the first hello of an edge in session 7, the resume of this edge after a
// reconnect, and the refusal by a cloud that read this version's golden hello. refuse_of_hello and refuse_of_resume are
// this version's: the edge that had sent the hello failed on the first of them with unknown_version.
#include <specverify/codec/message.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/into.hpp"
#include "wire/golden_messages.hpp"

using namespace specverify;
using specverify_test::into;

namespace {

using bytes = std::vector<std::byte>;

std::map<std::string, bytes> recorded() {
  std::map<std::string, bytes> all;
  std::ifstream file("tests/wire/version_2.txt");
  REQUIRE(file.good());
  for (std::string name, hex; file >> name >> hex;) {
    bytes& made = all[name];
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      made.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return all;
}

constexpr status theirs{errc::unknown_version, part::codec, 2u << 16 | 3};

}  // namespace

TEST_CASE("a hello and a resume of version 2 are unknown_version, and have a name for the refusal") {
  auto all = recorded();
  const auto named = [&](const bytes& message) {
    hello_name name;
    CHECK(into(name, name_of(message)).ok());
    return name;
  };
  CHECK(named(all["golden_hello"]) == hello_name{0x0123456789abcdefu, 2});
  CHECK(named(all["golden_resume"]) == hello_name{0x0123456789abcdefu, 2});
  CHECK(named(all["hello"]) == hello_name{7, 1});
  CHECK(named(all["resume"]) == hello_name{7, 2});
  for (const char* name : {"golden_hello", "hello"}) {
    CHECK(specverify::kind_of(all[name]).ok());
    CHECK(decode_hello(all[name]).error() == theirs);
  }
  for (const char* name : {"golden_resume", "resume"}) {
    CHECK(specverify::kind_of(all[name]).error() == theirs);
    CHECK(decode_hello(all[name]).error() == theirs);
  }
  // Damaged or cut short, it names nobody.
  for (const char* name : {"golden_hello", "golden_resume"}) {
    bytes message = all[name];
    for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
      message[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      CHECK(!name_of(message).ok());
      message[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    for (std::size_t size = 0; size < message.size(); ++size) CHECK(!name_of(std::span(message).first(size)).ok());
  }
}

TEST_CASE("an edge of version 2 reads this version's refusal, and this version reads the one of its cloud") {
  auto all = recorded();
  bytes written(16);
  for (const auto& [asked, refused] : {std::pair("hello", "refuse_of_hello"), {"resume", "refuse_of_resume"}}) {
    hello_name name;
    REQUIRE(into(name, name_of(all[asked])).ok());
    REQUIRE(encode_refuse(name, theirs, written).ok());
    CHECK(written == all[refused]);
  }
  refuse_message read;
  REQUIRE(into(read, decode_refuse(specverify_test::golden_name, all["refuse_of_cloud"])).ok());
  CHECK(read.reason == status{errc::unknown_version, part::codec, 3u << 16 | 2});
}

TEST_CASE("a draft with laws and a check of 8 bits has 6 bytes less than in version 2") {
  const std::map<std::string, std::size_t> before{
      {"draft_drop_zero", 144}, {"draft_paper", 81}, {"draft_dense", 642}, {"draft_fp16_row", 31}, {"draft_tail", 135}};
  std::size_t compared = 0;
  for (const auto& message : specverify_test::golden_messages()) {
    CAPTURE(message.name);
    const auto found = before.find(message.name);
    if (found == before.end()) continue;
    CHECK(message.bytes.size() + 6 == found->second);
    ++compared;
  }
  CHECK(compared == before.size());
}
