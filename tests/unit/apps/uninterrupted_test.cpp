// SPDX-License-Identifier: Apache-2.0
//! A system call that a signal interrupts is made again; another failure is one.
#include "uninterrupted.hpp"

#include <doctest/doctest.h>

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
