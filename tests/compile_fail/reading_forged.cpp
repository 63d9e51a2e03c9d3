// SPDX-License-Identifier: Apache-2.0
//! Nobody makes a reading of a digest written by hand: the passkey of readings opens for the functions of the row room.
// expect: private
#include <specverify/row/reading.hpp>

specverify::token_id likeliest(specverify::workspace& scratch) {
  specverify::row_digest written;
  written.argmax = 3;
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::reading_access::summary(written, scratch).argmax();
#else
  return scratch.used() == 0 ? written.argmax : specverify::no_token;
#endif
}
