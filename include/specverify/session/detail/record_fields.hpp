// SPDX-License-Identifier: Apache-2.0
//! Snapshots as bytes of a journal, member by member: every byte is a value's, and none is padding.
//!
//! A snapshot type has `journal_fields(field, snapshot)`, which calls `field` as codec/detail/member_bytes.hpp has it.
//! A snapshot without such a function is copied as it stands in memory.
#ifndef SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP
#define SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP

#include <specverify/codec/detail/member_bytes.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

template <class Snapshot>
concept has_journal_fields = requires(member_counter& field, const Snapshot& snapshot) {
  journal_fields(field, snapshot);
};

template <class Snapshot>
[[nodiscard]] constexpr std::size_t snapshot_bytes() noexcept {
  if constexpr (has_journal_fields<Snapshot>) {
    member_counter field;
    const Snapshot any{};
    journal_fields(field, any);
    return field.bytes();
  } else {
    return sizeof(Snapshot);
  }
}
template <class Snapshot>
void store_snapshot(const Snapshot& snapshot, std::byte* at) noexcept {
  if constexpr (has_journal_fields<Snapshot>) {
    member_writer field(at);
    journal_fields(field, snapshot);
  } else {
    store_state(snapshot, at);
  }
}
//! False: a bool or an enum holds no value of its own.
template <class Snapshot>
[[nodiscard]] bool load_snapshot(Snapshot& snapshot, const std::byte* at) noexcept {
  if constexpr (has_journal_fields<Snapshot>) {
    member_reader field(at);
    journal_fields(field, snapshot);
    return field.good();
  } else {
    static_assert(std::is_trivially_copyable_v<Snapshot>);
    std::memcpy(static_cast<void*>(&snapshot), at, sizeof(Snapshot));
    return true;
  }
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
