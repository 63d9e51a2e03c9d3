// SPDX-License-Identifier: Apache-2.0
//! Turns the library's errors into exceptions, for programs that cannot go on after an error.
#ifndef SPECVERIFY_APPS_DEMAND_HPP
#define SPECVERIFY_APPS_DEMAND_HPP

#include <specverify/core/status.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace programs {

//! Throws std::runtime_error with the operation's name and the error's text, unless `why` is ok.
inline void demand(specverify::status why, const char* operation) {
  if (!why.ok()) throw std::runtime_error(std::string(operation) + ": " + why.text().c_str());
}
//! Returns the value of `made`, or throws std::runtime_error as above.
template <class Value>
Value demand(specverify::result<Value> made, const char* operation) {
  demand(made.error(), operation);
  return *std::move(made);
}

}  // namespace programs

#endif
