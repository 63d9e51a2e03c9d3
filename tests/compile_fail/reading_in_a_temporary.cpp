// SPDX-License-Identifier: Apache-2.0
//! A reading stands in a workspace that outlives the call: a temporary one is refused.
// expect: cannot bind|expects an lvalue|no matching
#include <specverify/row/reading.hpp>

bool readable(specverify::row_view<float> row, std::span<std::byte> memory) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::read_row(specverify::exec::seq, row, {}, {}, specverify::workspace(memory)).ok();
#else
  specverify::workspace scratch(memory);
  return specverify::read_row(specverify::exec::seq, row, {}, {}, scratch).ok();
#endif
}
