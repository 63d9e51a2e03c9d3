// SPDX-License-Identifier: Apache-2.0
//! A secret does not end in a log by accident: it has no stream operator.
// expect: operator<<|invalid operands
#include <specverify/core/secret.hpp>

#include <ostream>

void log(std::ostream& out, const specverify::session_secret& secret) {
#ifdef SPECVERIFY_MUST_FAIL
  out << secret;
#else
  out << secret.is_missing();
#endif
}
