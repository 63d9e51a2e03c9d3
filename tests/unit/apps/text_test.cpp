// SPDX-License-Identifier: Apache-2.0
//! Texts of the programs: what is shown of a text that ends before a stop string, and how ids and ports are written:
//! each number has one text. And a system call that a signal interrupts is made again; another failure is one.
#include "edge_cloud/stopped_text.hpp"
#include "edge_cloud/whole_number.hpp"
#include "uninterrupted.hpp"

#include <doctest/doctest.h>

#include <string>

using edge_cloud::stopped_text;
using edge_cloud::whole_number_from;

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

TEST_CASE("whole number: a number has one text") {
  CHECK(whole_number_from("0") == 0u);
  CHECK(whole_number_from("5") == 5u);
  CHECK(whole_number_from("50") == 50u);
  CHECK(whole_number_from("18446744073709551615") == ~std::uint64_t{0});
  for (const char* text : {"05", "00", "0005", "", "+5", "-5", " 5", "5 ", "5x", "0x5", "5.", "18446744073709551616"}) {
    CAPTURE(text);
    CHECK(!whole_number_from(text));
  }
  CHECK(!whole_number_from(std::string("5\0", 2)));  // a common name may hold any byte
}

TEST_CASE("uninterrupted: a call is made again after signals, and after nothing else") {
  int calls = 0, left = 0;
  const auto after = [&calls, &left](int failures, int why) {
    calls = 0;
    const long returned = programs::uninterrupted([&calls, failures, why] {
      errno = why;
      return ++calls > failures ? 7L : -1L;
    });
    left = errno;
    return returned;
  };
  CHECK(after(0, 0) == 7);
  CHECK(calls == 1);
  CHECK(after(3, EINTR) == 7);
  CHECK(calls == 4);
  CHECK(after(3, EAGAIN) == -1);
  CHECK(calls == 1);
  CHECK(left == EAGAIN);
}
