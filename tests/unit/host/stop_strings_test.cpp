// SPDX-License-Identifier: Apache-2.0
// Stop strings against a search in the whole text, however it is divided into tokens.
#include <doctest/doctest.h>

#include <specverify/host/stop_strings.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace specverify;

namespace {

stop_strings of(const std::vector<std::string_view>& strings) { return stop_strings::make(strings).value(); }

//! The text up to the string whose last byte comes first; of those the longest.
std::size_t first_find(std::string_view text, const std::vector<std::string_view>& strings) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t begin = end;
    for (const std::string_view string : strings) {
      if (string.size() <= end && text.substr(end - string.size(), string.size()) == string)
        begin = std::min(begin, end - string.size());
    }
    if (begin < end) return begin;
  }
  return std::string_view::npos;
}

}  // namespace

TEST_CASE("stop_strings: by hand, across token borders") {
  stop_strings ends = of({"\nUser:", "###"});
  CHECK_FALSE(ends.take("Hello"));
  CHECK(ends.bytes() == 5);
  CHECK_FALSE(ends.take(" you\nUs"));
  CHECK(ends.bytes() == 9);  // "\nUs" may begin a string
  CHECK(ends.tokens() == 2);
  CHECK(ends.take("er: hi"));
  CHECK(ends.found());
  CHECK(ends.bytes() == 9);
  CHECK(ends.tokens() == 1);  // the second token has bytes of the string
  CHECK(ends.take("more"));
  CHECK(ends.tokens() == 1);
}

TEST_CASE("stop_strings: a string at the beginning, one that fills a token, one that follows a token") {
  stop_strings first = of({"ab"});
  CHECK(first.take("abc"));
  CHECK(first.bytes() == 0);
  CHECK(first.tokens() == 0);
  stop_strings behind = of({"ab"});
  CHECK_FALSE(behind.take("xy"));
  CHECK_FALSE(behind.take(""));
  CHECK(behind.take("ab"));
  CHECK(behind.bytes() == 2);
  CHECK(behind.tokens() == 2);
}

TEST_CASE("stop_strings: none never ends a text, an empty one is refused") {
  stop_strings none = of({});
  CHECK_FALSE(none.take("anything"));
  CHECK(none.bytes() == 8);
  CHECK(none.tokens() == 1);
  const std::vector<std::string_view> strings{"a", ""};
  CHECK(stop_strings::make(strings).error() == status{errc::invalid_argument, part::host, 1});
}

TEST_CASE("stop_strings: finds what a search in the whole text finds") {
  std::mt19937 draw(5);
  const auto random = [&](std::size_t most) {
    std::string made(draw() % most + 1, 'a');
    for (char& letter : made) letter = static_cast<char>('a' + draw() % 2);
    return made;
  };
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::string> kept(draw() % 3 + 1);
    for (std::string& string : kept) string = random(7);
    const std::vector<std::string_view> strings(kept.begin(), kept.end());
    stop_strings ends = of(strings);
    std::string text;
    std::vector<std::size_t> token_ends;
    while (text.size() < 24) {
      const std::string piece = draw() % 5 == 0 ? std::string{} : random(5);
      text += piece;
      token_ends.push_back(text.size());
      const std::size_t find = first_find(text, strings);
      const bool found = ends.take(piece);
      REQUIRE(found == (find != std::string_view::npos));
      if (!found) {
        REQUIRE(ends.bytes() <= text.size());
        REQUIRE(ends.tokens() == token_ends.size());
        continue;
      }
      REQUIRE(ends.bytes() == find);
      REQUIRE(ends.tokens() == static_cast<std::size_t>(std::count_if(token_ends.begin(), token_ends.end(),
                                                                      [&](std::size_t end) { return end <= find; })));
      break;
    }
  }
}

TEST_CASE("stop_strings: what was shown is never part of a string that follows") {
  std::mt19937 draw(6);
  for (int i = 0; i < 5000; ++i) {
    stop_strings ends = of({"abab", "bba", "aabba"});
    std::uint64_t shown = 0;
    for (int token = 0; token < 30 && !ends.found(); ++token) {
      std::string piece(draw() % 4, 'a');
      for (char& letter : piece) letter = static_cast<char>('a' + draw() % 2);
      (void)ends.take(piece);
      REQUIRE(ends.bytes() >= shown);
      shown = ends.bytes();
    }
  }
}
