// SPDX-License-Identifier: Apache-2.0
// The numbers of the formats travel in hello: they are frozen.
#include <specverify/distribution/law_format.hpp>

#include <doctest/doctest.h>

using namespace specverify;

TEST_CASE("law_format: the numbers of the wire, and which of them carry laws") {
  const law_format in_order[] = {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice,
                                 law_format::fp16_row,         law_format::token_only,   law_format::token_and_count,
                                 law_format::top_k_tail};
  int number = 0;
  for (const law_format format : in_order) {
    CHECK(static_cast<int>(format) == number);
    CHECK(carries_laws(format) == (number != 4 && number != 5));
    ++number;
  }
}
