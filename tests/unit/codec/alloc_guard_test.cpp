// SPDX-License-Identifier: Apache-2.0
//! The counting operator new of this executable. In a file of its own: where a compiler sees both ends of a pair it warns of the mismatch.
#define SPECVERIFY_COUNT_ALLOCATIONS
#include "support/alloc_guard.hpp"

#include <doctest/doctest.h>

#include <cstddef>

TEST_CASE("alloc_guard: counts") {
  const specverify_test::alloc_guard guard;
  void* (*volatile make)(std::size_t) = &::operator new;
  void (*volatile release)(void*) = &::operator delete;
  release(make(16));
  CHECK(guard.count() == 1);
}
