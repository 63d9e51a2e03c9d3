// SPDX-License-Identifier: Apache-2.0
//! A token drawn from another law than it claims is lossy by name: the lossless rule does not take it (COR-1, COR-11).
// expect: constraint
#include <specverify/verify/token.hpp>

template <class Draft>
specverify::result<specverify::verdict> verified(std::span<const Draft> drafts,
                                                 const specverify::row_span_provider<float>& rows,
                                                 specverify::workspace& scratch) {
  return specverify::token_rule{}.verify(specverify::exec::seq, drafts, rows, specverify::uniforms<>{}, {}, scratch);
}

specverify::result<specverify::verdict> run(const specverify::row_span_provider<float>& rows,
                                            specverify::workspace& scratch) {
#ifdef SPECVERIFY_MUST_FAIL
  return verified(std::span<const specverify::mismatched_draft>(), rows, scratch);
#else
  return verified(std::span<const specverify::received_draft>(), rows, scratch);
#endif
}
