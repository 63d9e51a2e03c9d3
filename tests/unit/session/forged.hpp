// SPDX-License-Identifier: Apache-2.0
//! Journals that say what no session has written.
#ifndef SPECVERIFY_TESTS_UNIT_SESSION_FORGED_HPP
#define SPECVERIFY_TESTS_UNIT_SESSION_FORGED_HPP

#include "pair.hpp"

#include <doctest/doctest.h>

#include <specverify/session/journal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace specverify_test {

template <class Snapshot>
std::vector<std::byte> journal_record(std::uint32_t first, std::span<const specverify::token_id> ids,
                                      const Snapshot& last) {
  std::array<std::byte, specverify::detail::snapshot_bytes<Snapshot>()> snapshot;
  specverify::detail::store_snapshot(last, snapshot.data());
  std::vector<std::byte> record(specverify::detail::journal_bytes(ids.size(), snapshot.size()));
  const auto written = specverify::detail::write_journal_bytes({first, ids, snapshot, {}}, record);
  REQUIRE(written.ok());
  REQUIRE(written->size() == record.size());
  return record;
}

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
