// SPDX-License-Identifier: Apache-2.0
//! A wire format does not become a draft format by itself: V would be lost without a word.
// expect: inaccessible base|private base
#include <specverify/codec/message_types.hpp>

specverify::draft_format chosen(const specverify::wire_format& agreed) {
#ifdef SPECVERIFY_MUST_FAIL
  return agreed;
#else
  return agreed.drafts();
#endif
}
