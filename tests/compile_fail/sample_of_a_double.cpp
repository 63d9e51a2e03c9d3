// SPDX-License-Identifier: Apache-2.0
//! A draw reads as many numbers as it needs: one double is no stream.
// expect: no matching
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

bool drawn(const reading& row, double uniform) {
#ifdef SPECVERIFY_MUST_FAIL
  return row.sample(uniform).ok();
#else
  return row.accept({.token = 1, .count = 1, .resolution = 2}, uniform).ok();
#endif
}
