// SPDX-License-Identifier: Apache-2.0
//! Splits a result for tests of status and value: the value goes to the first argument, which is unchanged if there is
//! none, and the status is returned.
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
//! Stores the number of elements that were written.
template <class Element>
[[nodiscard]] specverify::status into(std::size_t& written, const specverify::result<std::span<Element>>& made) {
  if (made) written = made->size();
  return made.error();
}

}  // namespace specverify_test

#endif
