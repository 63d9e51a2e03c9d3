// SPDX-License-Identifier: Apache-2.0
//! How ids and ports are written: each number has one text. And a system call that a signal interrupts is made again;
//! another failure is one.
#include "edge_cloud/whole_number.hpp"
#include "uninterrupted.hpp"

#include <doctest/doctest.h>

#include <string>

using edge_cloud::whole_number_from;

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
