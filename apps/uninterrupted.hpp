// SPDX-License-Identifier: Apache-2.0
//! Repeats system calls that a signal interrupts.
#ifndef SPECVERIFY_APPS_UNINTERRUPTED_HPP
#define SPECVERIFY_APPS_UNINTERRUPTED_HPP

#include <cerrno>

namespace programs {

//! Returns the result of `call()`. If a signal interrupts the call (EINTR), the function calls it again.
template <class Call>
auto uninterrupted(Call&& call) {
  auto returned = call();
  while (returned < 0 && errno == EINTR) returned = call();
  return returned;
}

}  // namespace programs

#endif
