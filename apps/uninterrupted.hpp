// SPDX-License-Identifier: Apache-2.0
//! System calls that a signal may interrupt.
#ifndef SPECVERIFY_APPS_UNINTERRUPTED_HPP
#define SPECVERIFY_APPS_UNINTERRUPTED_HPP

#include <cerrno>

namespace programs {

//! What `call()` returns, which is made again as long as a signal interrupts it (EINTR).
template <class Call>
auto uninterrupted(Call&& call) {
  auto returned = call();
  while (returned < 0 && errno == EINTR) returned = call();
  return returned;
}

}  // namespace programs

#endif
