// SPDX-License-Identifier: Apache-2.0
//! Uniforms hold a pure map: a generator that steps has a state and is none (COR-4).
// expect: constraint
#include <specverify/core/uniforms.hpp>

struct stepping_generator {
  specverify::random_block next{};
  specverify::random_block operator()(specverify::random_counter) noexcept { return next; }
};

double first_uniform() {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::uniforms{stepping_generator{}, 0u, 0u}.at(specverify::purpose::acceptance).uniform();
#else
  return specverify::uniforms{specverify::philox{}, 0u, 0u}.at(specverify::purpose::acceptance).uniform();
#endif
}
