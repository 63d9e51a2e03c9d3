// SPDX-License-Identifier: Apache-2.0
//! The journal of a session: records of {ids, snapshot} that a host appends to a file and reads back after a restart.
//!
//! A record: magic, length of the payload, first position, number of ids (4 bytes each, little-endian), a 64-bit check
//!           of these 16 bytes; then the ids, the bytes of the snapshot, and a 64-bit check of ids and snapshot.
//! Guarantees: writing is O(bytes) without allocation. Reading applies the records in order: ids replace what stood
//!             from their first position on, the last snapshot counts. A record that the end of the file cuts off is
//!             ignored (a killed process leaves one); any other damage is journal_corrupt. FNV-1a, 64 bits: finds
//!             accidents, not forgeries.
//! Deviates:   the snapshot's bytes are those of this machine; a journal does not move between machines.
//! See:        docs/algorithms/journal.md, docs/session.md, tests/unit/session/journal_test.cpp,
//!             examples/docs/journal.cpp
#ifndef SPECVERIFY_SESSION_JOURNAL_HPP
#define SPECVERIFY_SESSION_JOURNAL_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/views.hpp>
#include <specverify/cpp20.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

//! What was found in a journal.
struct journal_reading {
  std::size_t valid_bytes = 0;  //!< where the last whole record ends: cut the file here before appending
  std::uint32_t records = 0;
  std::uint32_t text_length = 0;  //!< ids in the text
  bool torn = false;              //!< the file went on after valid_bytes
};

//! What `read_journal` gives back.
template <class Snapshot>
struct journal_content {
  journal_reading found{};
  std::span<const token_id> text{};  //!< the filled part of the caller's memory
  std::optional<Snapshot> last{};    //!< the snapshot of the last record; none without a record
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

inline constexpr std::uint32_t journal_magic = 0x4A565053u;  // "SPVJ"
inline constexpr std::size_t journal_head_bytes = 24;
inline constexpr std::size_t journal_check_bytes = 8;

[[nodiscard]] constexpr std::size_t journal_bytes(std::size_t tokens, std::size_t snapshot_bytes) noexcept {
  return journal_head_bytes + 4 * tokens + snapshot_bytes + journal_check_bytes;
}

//! One record with a snapshot that is given as bytes.
[[nodiscard]] inline result<std::span<std::byte>> write_journal_bytes(std::uint32_t first_position,
                                                                      std::span<const token_id> ids,
                                                                      std::span<const std::byte> snapshot,
                                                                      std::span<std::byte> out) noexcept {
  const std::size_t bytes = journal_bytes(ids.size(), snapshot.size());
  if (out.size() < bytes) return status{errc::output_too_small, part::session, static_cast<std::uint32_t>(bytes)};
  std::byte* const at = out.data();
  const std::size_t payload = 4 * ids.size() + snapshot.size();
  numeric::store_le(at, journal_magic, 4);
  numeric::store_le(at + 4, payload, 4);
  numeric::store_le(at + 8, first_position, 4);
  numeric::store_le(at + 12, ids.size(), 4);
  numeric::store_le(at + 16, numeric::fnv1a(out.first(16)), 8);
  std::byte* next = at + journal_head_bytes;
  for (const token_id id : ids) {
    numeric::store_le(next, static_cast<std::uint32_t>(id), 4);
    next += 4;
  }
  std::memcpy(next, snapshot.data(), snapshot.size());
  numeric::store_le(next + snapshot.size(), numeric::fnv1a(out.subspan(journal_head_bytes, payload)), 8);
  return out.first(bytes);
}

//! The last snapshot stands inside the journal.
struct journal_bytes_content {
  journal_reading found{};
  std::span<const std::byte> last{};
};

//! Reads records whose snapshots have `snapshot_bytes` bytes.
[[nodiscard]] inline result<journal_bytes_content> read_journal_bytes(std::span<const std::byte> bytes,
                                                                      std::size_t snapshot_bytes,
                                                                      std::span<token_id> text) noexcept {
  journal_reading found;
  std::span<const std::byte> last;
  while (found.valid_bytes < bytes.size()) {
    const std::span<const std::byte> rest = bytes.subspan(found.valid_bytes);
    const status why{errc::journal_corrupt, part::session, static_cast<std::uint32_t>(found.valid_bytes)};
    if (rest.size() < journal_head_bytes) {
      found.torn = true;
      break;
    }
    const auto number = [rest](std::size_t at) {
      return static_cast<std::uint32_t>(numeric::load_le(rest.data() + at, 4));
    };
    const std::uint32_t payload = number(4), first = number(8), count = number(12);
    if (number(0) != journal_magic) return why;
    if (numeric::load_le(rest.data() + 16, 8) != numeric::fnv1a(rest.first(16))) return why;
    if (payload != 4 * std::uint64_t{count} + snapshot_bytes || first > found.text_length) return why;
    if (rest.size() - journal_head_bytes < std::size_t{payload} + journal_check_bytes) {
      found.torn = true;
      break;
    }
    const std::byte* next = rest.data() + journal_head_bytes;
    if (numeric::load_le(next + payload, 8) != numeric::fnv1a(rest.subspan(journal_head_bytes, payload))) return why;
    if (std::uint64_t{first} + count > text.size()) return status{errc::output_too_small, part::session, count};
    for (std::uint32_t i = 0; i < count; ++i, next += 4)
      text[first + i] = static_cast<token_id>(numeric::load_le(next, 4));
    last = {next, snapshot_bytes};
    found.text_length = first + count;
    found.valid_bytes += journal_head_bytes + payload + journal_check_bytes;
    ++found.records;
  }
  return journal_bytes_content{found, last};
}

}  // namespace detail

//! Bytes of a record with `tokens` ids.
template <class Snapshot>
[[nodiscard]] constexpr std::size_t journal_record_bytes(std::size_t tokens) noexcept {
  return detail::journal_bytes(tokens, sizeof(Snapshot));
}

//! Writes one record to the front of `out`, which it returns. Errors: output_too_small (`where` = bytes needed).
template <class Snapshot>
[[nodiscard]] result<std::span<std::byte>> write_journal_record(std::uint32_t first_position,
                                                                std::span<const token_id> ids, const Snapshot& snapshot,
                                                                std::span<std::byte> out) noexcept {
  static_assert(std::is_trivially_copyable_v<Snapshot>);
  return detail::write_journal_bytes(first_position, ids, std::as_bytes(std::span(&snapshot, 1)), out);
}

//! Reads a whole journal, its ids to the front of `text`.
//! Errors: journal_corrupt (`where` = byte of the record), output_too_small (the text does not fit).
template <class Snapshot>
[[nodiscard]] result<journal_content<Snapshot>> read_journal(std::span<const std::byte> bytes,
                                                             std::span<token_id> text) noexcept {
  static_assert(std::is_trivially_copyable_v<Snapshot>);
  const result<detail::journal_bytes_content> read = detail::read_journal_bytes(bytes, sizeof(Snapshot), text);
  if (!read) return read.error();
  journal_content<Snapshot> content{read->found, text.first(read->found.text_length)};
  if (!read->last.empty()) {
    content.last.emplace();
    std::memcpy(static_cast<void*>(&*content.last), read->last.data(), sizeof(Snapshot));
  }
  return content;
}

SPECVERIFY_NAMESPACE_END

#endif
