// SPDX-License-Identifier: Apache-2.0
//! Randomness is a pure map from a counter: a generator that steps is no uniform_source (COR-4).
// expect: constraint
#include <specverify/distribution/draft.hpp>

struct stepping_generator {
  specverify::random_block next{};
  specverify::random_block operator()() noexcept { return next; }
};

specverify::token_id drawn(const specverify::law& from) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::draw(from, specverify::uniforms{stepping_generator{}, 0, 0}.at(specverify::purpose::draft_draw))
      .token();
#else
  return specverify::draw(from, specverify::uniforms{specverify::philox{}, 0, 0}.at(specverify::purpose::draft_draw))
      .token();
#endif
}
