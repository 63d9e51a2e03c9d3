// SPDX-License-Identifier: Apache-2.0
//! A status that nobody looks at is a warning, in our builds an error.
// expect: unused-result|nodiscard
#include <specverify/distribution/law.hpp>

void checked(const specverify::law& given) {
#ifdef SPECVERIFY_MUST_FAIL
  check(given);
#else
  static_cast<void>(check(given));
#endif
}
