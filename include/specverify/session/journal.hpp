// SPDX-License-Identifier: Apache-2.0
//! Writes and reads the journal of a session. A host appends records to a file, and reads them after a restart.
//!
//! A record holds token ids, a snapshot and the edge's open draft; docs/algorithms/journal.md describes the bytes. The
//! ids replace the text from the record's first position on. The last snapshot and the last draft count.
//! Guarantees: writing is O(bytes) without allocation. Reading ignores an incomplete record at the end of the file, and
//!             a last record whose check and later bytes are all 0 (after a power cut). Other damage is
//!             journal_corrupt. The check (64-bit FNV-1a) detects accidents, but not forgeries.
//! Deviates:   a sparsifier's state depends on the machine, so a journal with such a state cannot move to another one.
//! See:        docs/algorithms/journal.md, docs/session/journal.md, tests/unit/session/journal_test.cpp
#ifndef SPECVERIFY_SESSION_JOURNAL_HPP
#define SPECVERIFY_SESSION_JOURNAL_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/views.hpp>
#include <specverify/cpp20.hpp>
#include <specverify/session/detail/record_fields.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! Summary of a journal that was read.
struct journal_reading {
  std::size_t valid_bytes = 0;  //!< end of the last whole record: truncate the file here before you append
  std::uint32_t records = 0;
  std::uint32_t text_length = 0;  //!< ids in the text
  bool torn = false;              //!< bytes of an unfinished record follow valid_bytes
};

//! Result of `read_journal`.
template <class Snapshot>
struct journal_content {
  journal_reading found{};
  std::span<const token_id> text{};    //!< the filled part of the caller's memory
  std::optional<Snapshot> last{};      //!< the last snapshot; none without a record
  std::span<const std::byte> draft{};  //!< the last draft that an edge kept; points into the journal
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

inline constexpr std::uint32_t journal_name = 0x565053u;  // "SPV"
inline constexpr std::uint32_t journal_layout = 5;
inline constexpr std::size_t journal_head_bytes = 24;
inline constexpr std::size_t journal_check_bytes = 8;

//! Returns the size of a record with `tokens` ids, and a snapshot and a draft of these sizes.
[[nodiscard]] constexpr std::size_t journal_bytes(std::size_t tokens, std::size_t snapshot_bytes,
                                                  std::size_t draft_bytes = 0) noexcept {
  const saturating ids = saturating(4) * tokens + journal_head_bytes + 4 + journal_check_bytes;
  return static_cast<std::size_t>((ids + snapshot_bytes + draft_bytes).value);
}

//! Parts of one record, as bytes. If the snapshot is empty, the previous snapshot remains valid.
struct journal_record {
  std::uint32_t first_position = 0;
  std::span<const token_id> ids{};
  std::span<const std::byte> snapshot{};
  std::span<const std::byte> draft{};
};

[[nodiscard]] inline result<std::span<std::byte>> write_journal_bytes(const journal_record& record,
                                                                      std::span<std::byte> out) noexcept {
  const std::size_t bytes = journal_bytes(record.ids.size(), record.snapshot.size(), record.draft.size());
  // The first comparison is for the optimizer, because a compiler must assume that the sum `bytes` may wrap. If the
  // compiler sees that `out` is too small even for an empty record, it can remove the rest of the function.
  if (out.size() < journal_bytes(0, 0) || out.size() < bytes)
    return status{errc::output_too_small, part::session, static_cast<std::uint32_t>(bytes)};
  std::byte* const at = out.data();
  const std::size_t payload = bytes - journal_head_bytes - journal_check_bytes;
  numeric::store_le(at, journal_name | journal_layout << 24, 4);
  numeric::store_le(at + 4, payload, 4);
  numeric::store_le(at + 8, record.first_position, 4);
  numeric::store_le(at + 12, record.ids.size(), 4);
  numeric::store_le(at + 16, numeric::fnv1a(out.first(16)), 8);
  std::byte* next = at + journal_head_bytes;
  numeric::store_le(next, record.snapshot.size(), 4);
  next += 4;
  for (const token_id id : record.ids) {
    numeric::store_le(next, static_cast<std::uint32_t>(id), 4);
    next += 4;
  }
  next = std::copy(record.snapshot.begin(), record.snapshot.end(), next);
  next = std::copy(record.draft.begin(), record.draft.end(), next);
  numeric::store_le(next, numeric::fnv1a(out.subspan(journal_head_bytes, payload)), 8);
  return out.first(bytes);
}

//! Returns the payload of the first record of `rest`, or an empty span if the record is incomplete. Errors:
//! journal_corrupt, unsupported (a different layout).
[[nodiscard]] inline result<std::span<const std::byte>> open_record(std::span<const std::byte> rest) noexcept {
  using opened = result<std::span<const std::byte>>;
  constexpr std::span<const std::byte> unfinished{};
  const auto wrong = [](errc code) { return status{code, part::session, 0}; };
  const auto unfinished_or_corrupt = [&](std::size_t check) -> opened {
    const bool zero = std::all_of(rest.begin() + static_cast<std::ptrdiff_t>(check), rest.end(),
                                  [](std::byte b) { return b == std::byte{0}; });
    return zero ? opened(unfinished) : opened(wrong(errc::journal_corrupt));
  };
  if (rest.size() < journal_head_bytes) return unfinished;
  const auto name = static_cast<std::uint32_t>(numeric::load_le(rest.data(), 4));
  if (numeric::load_le(rest.data() + 16, 8) != numeric::fnv1a(rest.first(16))) return unfinished_or_corrupt(16);
  if ((name & 0xFFFFFFu) != journal_name) return wrong(errc::journal_corrupt);
  if (name >> 24 != journal_layout) return wrong(errc::unsupported);
  const auto payload = static_cast<std::size_t>(numeric::load_le(rest.data() + 4, 4));
  if (payload < 4) return wrong(errc::journal_corrupt);
  if (rest.size() - journal_head_bytes < payload + journal_check_bytes) return unfinished;
  const std::span<const std::byte> inside = rest.subspan(journal_head_bytes, payload);
  if (numeric::load_le(inside.data() + payload, 8) != numeric::fnv1a(inside))
    return unfinished_or_corrupt(journal_head_bytes + payload);
  return inside;
}

//! Reads records whose snapshots have `snapshot_bytes` bytes. The snapshots and the draft in the result point into the
//! journal.
[[nodiscard]] inline result<journal_content<std::span<const std::byte>>> read_journal_bytes(
    std::span<const std::byte> bytes, std::size_t snapshot_bytes, std::span<token_id> text) noexcept {
  journal_content<std::span<const std::byte>> content;
  journal_reading& found = content.found;
  while (found.valid_bytes < bytes.size()) {
    const std::span<const std::byte> rest = bytes.subspan(found.valid_bytes);
    const auto wrong = [&found](errc code) {
      return status{code, part::session, static_cast<std::uint32_t>(found.valid_bytes)};
    };
    const auto opened = open_record(rest);
    if (!opened) return wrong(opened.error().code);
    found.torn = opened->empty();
    if (found.torn) break;
    const std::span<const std::byte> payload = *opened;
    const auto first = static_cast<std::uint32_t>(numeric::load_le(rest.data() + 8, 4));
    const auto count = static_cast<std::uint32_t>(numeric::load_le(rest.data() + 12, 4));
    const auto snapshot = static_cast<std::uint32_t>(numeric::load_le(payload.data(), 4));
    if (first > found.text_length || payload.size() < 4 + 4 * std::uint64_t{count} + snapshot)
      return wrong(errc::journal_corrupt);
    if (snapshot != 0 && snapshot != snapshot_bytes) return wrong(errc::size_mismatch);
    if (snapshot == 0 && snapshot_bytes != 0 && found.records == 0) return wrong(errc::journal_corrupt);
    if (std::uint64_t{first} + count > text.size()) return status{errc::output_too_small, part::session, count};
    const std::byte* next = payload.data() + 4;
    for (std::uint32_t i = 0; i < count; ++i, next += 4)
      text[first + i] = static_cast<token_id>(numeric::load_le(next, 4));
    if (snapshot != 0 || snapshot_bytes == 0) content.last.emplace(next, snapshot_bytes);
    const std::span<const std::byte> draft = payload.subspan(4 + 4 * std::size_t{count} + snapshot);
    if (!draft.empty()) content.draft = draft;
    found.text_length = first + count;
    found.valid_bytes += journal_head_bytes + payload.size() + journal_check_bytes;
    ++found.records;
  }
  content.text = text.first(found.text_length);
  return content;
}

}  // namespace detail

//! Reads a whole journal and writes the ids to the beginning of `text`.
//! Errors (`where` = byte of the record): journal_corrupt; unsupported (a different layout); size_mismatch (snapshots
//!         of a different type); output_too_small (`text` is too short; `where` = ids of the record).
template <class Snapshot>
[[nodiscard]] result<journal_content<Snapshot>> read_journal(std::span<const std::byte> bytes,
                                                             std::span<token_id> text) noexcept {
  const auto read = detail::read_journal_bytes(bytes, detail::snapshot_bytes<Snapshot>(), text);
  if (!read) return read.error();
  journal_content<Snapshot> content{read->found, read->text, {}, read->draft};
  if (read->last && !detail::load_snapshot(content.last.emplace(), read->last->data()))
    return status{errc::journal_corrupt, part::session, 0};
  return content;
}

namespace detail {

//! Returns the error for a snapshot that no session writes.
[[nodiscard]] constexpr status corrupt_snapshot() noexcept { return {errc::journal_corrupt, part::session, 0}; }

//! Reads a journal for `restore`. Snapshots must have `snapshot_bytes` bytes. Errors: as for `read_journal`;
//! unknown_session (the journal is empty); truncated (the file begins with an incomplete record); options_disagree at
//! `where` (snapshots of another size: the journal is the other side's, or has a different sparsifier).
[[nodiscard]] inline result<journal_content<std::span<const std::byte>>> journal_to_restore(
    std::span<const std::byte> journal, std::size_t snapshot_bytes, std::uint32_t where,
    std::span<token_id> text) noexcept {
  const auto read = read_journal_bytes(journal, snapshot_bytes, text);
  if (!read && read.error().code == errc::size_mismatch) return status{errc::options_disagree, part::session, where};
  if (read && read->found.records == 0)
    return status{read->found.torn ? errc::truncated : errc::unknown_session, part::session, 0};
  return read;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
