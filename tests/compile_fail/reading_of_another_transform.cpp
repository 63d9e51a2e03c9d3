// SPDX-License-Identifier: Apache-2.0
//! A row that was read with a bias is never sampled without it: the members take no row, transform or digest.
// expect: no matching|no member
#include <specverify/row/reading.hpp>

using reading = specverify::row_reading<specverify::exec::seq_policy, float>;

specverify::result<specverify::sampled_token> drawn(const reading& biased, const specverify::row_transform& plain,
                                                    const specverify::uniform_stream<>& stream) {
#ifdef SPECVERIFY_MUST_FAIL
  return biased.sample(plain, stream);
#else
  return specverify::row_transform(plain).greedy() ? biased.sample(stream, {}) : biased.sample(stream);
#endif
}
