// SPDX-License-Identifier: Apache-2.0
//! A draft binds a token to the law it was drawn from: only draw() makes one (COR-1).
// expect: private
#include <specverify/distribution/draft.hpp>

specverify::draft drawn(const specverify::law& from) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::draft(3, from);
#else
  return specverify::draw(from, specverify::uniforms{specverify::philox{}, 0, 0}.at(specverify::purpose::draft_draw));
#endif
}
