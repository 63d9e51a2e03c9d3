// SPDX-License-Identifier: Apache-2.0
//! A record of a journal, as a session would write it.
#ifndef SPECVERIFY_TESTS_UNIT_SESSION_JOURNAL_RECORD_HPP
#define SPECVERIFY_TESTS_UNIT_SESSION_JOURNAL_RECORD_HPP

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

}  // namespace specverify_test

#endif
