// SPDX-License-Identifier: Apache-2.0
//! A secret is 16 bytes: no number turns into one.
// expect: could not convert|no viable conversion|no known conversion
#include <specverify/session/options.hpp>

specverify::cloud_options made() {
#ifdef SPECVERIFY_MUST_FAIL
  return {.secret = 0xC10D, .salt = 1, .vocab_size = 8};
#else
  return {.secret = specverify::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"), .salt = 1, .vocab_size = 8};
#endif
}
