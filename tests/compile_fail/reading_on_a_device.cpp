// SPDX-License-Identifier: Apache-2.0
//! A single row is read on the host: a policy of a device has batches alone.
// expect: constraint|no matching
#include <specverify/row/reading.hpp>

struct device_policy {};

bool readable(specverify::row_view<float> row, specverify::workspace& scratch) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::read_row(device_policy{}, row, {}, {}, scratch).ok();
#else
  return specverify::read_row(specverify::exec::simd, row, {}, {}, scratch).ok() && sizeof(device_policy) > 0;
#endif
}
