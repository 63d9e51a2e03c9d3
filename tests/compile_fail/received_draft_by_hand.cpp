// SPDX-License-Identifier: Apache-2.0
//! A received draft is made by the decoder alone, which has checked its law.
// expect: private
#include <specverify/distribution/draft.hpp>

specverify::token_id token_of(const specverify::law& from, const specverify::received_draft& received) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::received_draft(3, from).token();
#else
  return from.size > 0 ? received.token() : specverify::no_token;
#endif
}
