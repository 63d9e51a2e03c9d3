// SPDX-License-Identifier: Apache-2.0
//! What is shown of a text that ends before a stop string.
#include "edge_cloud/stopped_text.hpp"

#include <doctest/doctest.h>

using edge_cloud::stopped_text;

namespace {

//! What is shown token by token, each in bars.
std::string shown(stopped_text& text, const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += "|" + std::string(text.take(piece));
  return all;
}

}  // namespace

TEST_CASE("stopped text: bytes that may belong to a string wait, and nothing behind it is shown") {
  stopped_text text({"\nUser:", "END"});
  CHECK(shown(text, {"Yes", ".\nU", "", "nd E", "\nUse", "r: no", "more"}) == "|Yes|.||\nUnd |E||");
  CHECK(text.ended());
  CHECK(text.waiting().empty());
  CHECK(text.text() == "Yes.\nUnd E");
  CHECK(text.tokens() == 4);
}

TEST_CASE("stopped text: a token that begins before the string is shown as far as it, and not counted") {
  stopped_text text({"END"});
  CHECK(shown(text, {"a", "b E", "ND"}) == "|a|b |");
  CHECK(text.text() == "ab ");
  CHECK(text.tokens() == 1);
}

TEST_CASE("stopped text: what waits is the end of a text that ends otherwise") {
  stopped_text text({"END"});
  CHECK(shown(text, {"a", " EN"}) == "|a| ");
  CHECK_FALSE(text.ended());
  CHECK(text.waiting() == "EN");
  CHECK(text.text() == "a EN");
  CHECK(text.tokens() == 2);
}

TEST_CASE("stopped text: without strings all is shown at once") {
  stopped_text text({});
  CHECK(shown(text, {"a", "", "bc"}) == "|a||bc");
  CHECK(text.waiting().empty());
  CHECK(text.text() == "abc");
}
