// SPDX-License-Identifier: Apache-2.0
//! Nobody but row/, kernel/, device/ and cuda/ looks into a row.
// expect: private
#include <specverify/core/views.hpp>

float first_logit(specverify::row_view<float> row) {
#ifdef SPECVERIFY_MUST_FAIL
  return row.data_[0];
#else
  return static_cast<float>(row.size());
#endif
}
