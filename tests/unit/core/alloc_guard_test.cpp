// SPDX-License-Identifier: Apache-2.0
//! The counting operator new of the test executables (tests/support/alloc_guard.cpp).
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
