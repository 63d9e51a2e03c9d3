// SPDX-License-Identifier: Apache-2.0
//! The first argument of a row operation is an execution policy; a standard one does not pass.
// expect: constraint
#include <specverify/core/execution.hpp>

template <specverify::execution_policy Policy>
int run(Policy) {
  return 0;
}

struct parallel {};

int run_it() {
#ifdef SPECVERIFY_MUST_FAIL
  return run(parallel{});
#else
  return run(specverify::exec::simd) + run(specverify::exec::seq);
#endif
}
