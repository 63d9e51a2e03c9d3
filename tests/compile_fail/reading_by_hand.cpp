// SPDX-License-Identifier: Apache-2.0
//! Nobody joins the digest of one row to another row: only read_row makes a reading.
// expect: private
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

reading joined(const reading& of_one, specverify::row_view<float> another) {
#ifdef SPECVERIFY_MUST_FAIL
  return reading(of_one, {}, another, of_one.transform());
#else
  return another.empty() ? of_one : reading(of_one);
#endif
}
