// SPDX-License-Identifier: Apache-2.0
//! A reading or a token that nobody looks at is a warning, in our builds an error.
// expect: unused-result|nodiscard
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

void drawn(const reading& row, const specverify::uniforms<>& random) {
#ifdef SPECVERIFY_MUST_FAIL
  row.sample(random.at(specverify::purpose::bonus_draw));
#else
  static_cast<void>(row.sample(random.at(specverify::purpose::bonus_draw)));
#endif
}
