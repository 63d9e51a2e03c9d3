// SPDX-License-Identifier: Apache-2.0
//! Snapshots as bytes of a journal, member by member: every byte is a value's, and none is padding.
//!
//! A snapshot type has `journal_fields(field, snapshot)`, which calls `field` as codec/detail/member_bytes.hpp has it.
//! A snapshot without such a function is copied as it stands in memory.
#ifndef SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP
#define SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP

#include <specverify/codec/detail/member_bytes.hpp>
#include <specverify/codec/message_types.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/session/output.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

struct edge_snapshot_head;  // session/snapshot.hpp
template <class SparsifierState>
struct edge_snapshot;
struct cloud_snapshot;

SPECVERIFY_TYPES_END
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

//! `Self`: the structure, const or not.
template <class Field, class Self>
constexpr void observation_fields(Field& field, Self& seen) noexcept {
  field(seen.round);
  field(seen.position);
  field(seen.last_drafted);
  field(seen.last_accepted);
  field(seen.drafted);
  field(seen.accepted);
  field(seen.draft_bytes);
  field(seen.uplink_rate);
  field(seen.downlink_rate);
  field(seen.round_trip);
  field(seen.draft_time);
  field(seen.uplink_state);
  field(seen.last_resolution);
  field(seen.accepted_probability);
  for (auto& known : seen.acceptance) {
    field(known.resolution);
    field(known.mean);
  }
}

template <class Field, class Self>
constexpr void head_fields(Field& field, Self& head) noexcept {
  field(head.session_id);
  field(head.prefix_hash);
  observation_fields(field, head.seen);
  field(head.channel.uplink_rate);
  field(head.channel.downlink_rate);
  field(head.channel.uplink_loss);
  field(head.channel.downlink_loss);
  field(head.channel.round_trip);
  for (auto& word : head.draft_key.word) field(word);
  terms_fields(field, head.terms, head.prompt_length);
  field(head.epoch);
  field(head.round);
  field(head.length);
  field(head.carry_round);
  field(head.carry_end);
  field(head.base_length);
  field(head.stop, stop_reason::cancelled);
  auto marks = static_cast<std::uint8_t>((head.finished ? 1 : 0) + (head.needs_no_more ? 2 : 0));
  field(marks, std::uint8_t{3});
  if constexpr (!std::is_const_v<Self>) {
    head.finished = (marks & 1) != 0;
    head.needs_no_more = (marks & 2) != 0;
  }
}

template <class Field, class Self>
constexpr void cloud_fields(Field& field, Self& cloud) noexcept {
  field(cloud.session_id);
  field(cloud.prefix_hash);
  field(cloud.target_hash);
  field(cloud.nonce);
  field(cloud.kept_hash);
  field(cloud.salt);
  terms_fields(field, cloud.terms, cloud.prompt_length);
  field(cloud.kept.accepted);
  field(cloud.kept.next_token);
  field(cloud.kept.source);
  field(cloud.kept.stop);
  field(cloud.kept_round);
  field(cloud.kept_base);
  field(cloud.kept_drafted);
  field(cloud.kept_skipped);
  field(cloud.epoch);
  field(cloud.round);
  field(cloud.length);
  field(cloud.target_length);
  field(cloud.target_round);
  field(cloud.stop, stop_reason::cancelled);
  field(cloud.next_number);
  field(cloud.heard_number);
  auto marks = static_cast<std::uint8_t>((cloud.heard_any ? 1 : 0) + (cloud.handed_over ? 2 : 0));
  field(marks, std::uint8_t{3});
  if constexpr (!std::is_const_v<Self>) {
    cloud.heard_any = (marks & 1) != 0;
    cloud.handed_over = (marks & 2) != 0;
  }
}

template <class T>
inline constexpr bool is_edge_snapshot = false;
template <class State>
inline constexpr bool is_edge_snapshot<edge_snapshot<State>> = true;

}  // namespace detail

//! The members of a snapshot, one by one: `field(number)`, `field(enum, last)`, `field.state(value)`. `Snapshot`: one
//! of the structures above, const or not.
template <class Field, class Snapshot>
constexpr void journal_fields(Field& field, Snapshot& snapshot) noexcept requires
    std::is_base_of_v<edge_snapshot_head, Snapshot> || std::is_same_v<const Snapshot, const cloud_snapshot> {
  if constexpr (std::is_base_of_v<edge_snapshot_head, Snapshot>) {
    detail::head_fields(field, snapshot);
    if constexpr (detail::is_edge_snapshot<std::remove_const_t<Snapshot>>) field.state(snapshot.sparsifier);
  } else {
    detail::cloud_fields(field, snapshot);
  }
}

SPECVERIFY_NAMESPACE_END

#endif
