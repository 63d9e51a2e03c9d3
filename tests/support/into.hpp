// SPDX-License-Identifier: Apache-2.0
//! Takes a result apart for tests that look at the status and at the value: the value goes to the first argument, which
//! stays as it was where there is none, and the status comes back.
#ifndef SPECVERIFY_TESTS_SUPPORT_INTO_HPP
#define SPECVERIFY_TESTS_SUPPORT_INTO_HPP

#include <specverify/core/status.hpp>

#include <cstddef>
#include <span>

namespace specverify_test {

template <class Value>
[[nodiscard]] specverify::status into(Value& value, const specverify::result<Value>& made) {
  if (made) value = *made;
  return made.error();
}
//! How many elements were written.
template <class Element>
[[nodiscard]] specverify::status into(std::size_t& written, const specverify::result<std::span<Element>>& made) {
  if (made) written = made->size();
  return made.error();
}

}  // namespace specverify_test

#endif
