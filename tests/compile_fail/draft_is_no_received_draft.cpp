// SPDX-License-Identifier: Apache-2.0
//! The four token types do not turn into each other (COR-3).
// expect: could not convert|no viable conversion|no known conversion
#include <specverify/distribution/draft.hpp>

specverify::token_id verified(specverify::received_draft received) { return received.token(); }

specverify::token_id token_of(const specverify::draft& drawn, const specverify::received_draft& received) {
#ifdef SPECVERIFY_MUST_FAIL
  return verified(received) + verified(drawn);
#else
  return verified(received) + drawn.token();
#endif
}
