// SPDX-License-Identifier: Apache-2.0
//! How ids and ports are written: each number has one text.
#include "edge_cloud/whole_number.hpp"

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
