// SPDX-License-Identifier: Apache-2.0
//! There is no empty reading: a result holds one, or the status that says why not.
// expect: no matching|no default|default constructor
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

specverify::token_id argmax_of(const specverify::result<reading>& made) {
#ifdef SPECVERIFY_MUST_FAIL
  const reading none;
  return none.argmax();
#else
  return made ? made->argmax() : specverify::no_token;
#endif
}
