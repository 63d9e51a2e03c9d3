// SPDX-License-Identifier: Apache-2.0
//! Turns errors that the library must not return here into exceptions, because the program cannot go on.
#ifndef SPECVERIFY_APPS_DEMAND_HPP
#define SPECVERIFY_APPS_DEMAND_HPP

#include <specverify/core/status.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace programs {

//! Throws std::logic_error with the operation's name and the error's text, unless `why` is ok.
inline void demand(specverify::status why, const char* operation) {
  if (!why.ok()) throw std::logic_error(std::string(operation) + ": " + why.text().c_str());
}
//! Returns the value of `made`, or throws std::logic_error as above.
template <class Value>
Value demand(specverify::result<Value> made, const char* operation) {
  demand(made.error(), operation);
  return *std::move(made);
}

}  // namespace programs

#endif
