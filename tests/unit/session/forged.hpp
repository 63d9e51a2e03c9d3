// SPDX-License-Identifier: Apache-2.0
//! Journals that say what no session has written.
#ifndef SPECVERIFY_TESTS_UNIT_SESSION_FORGED_HPP
#define SPECVERIFY_TESTS_UNIT_SESSION_FORGED_HPP

#include "journal_record.hpp"
#include "pair.hpp"

namespace specverify_test {

//! A journal of one record: what a journal says in the end, after `change`.
template <class Snapshot, class Change>
bytes forged(const bytes& journal, Change change) {
  std::vector<token_id> text(200);
  const auto read = sv::read_journal<Snapshot>(journal, text);
  REQUIRE(read.ok());
  text.resize(read->text.size());
  Snapshot last = *read->last;
  change(last, text);
  return journal_record(0, text, last);
}

}  // namespace specverify_test

#endif
