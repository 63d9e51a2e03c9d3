// SPDX-License-Identifier: Apache-2.0
//! Converts snapshots to the bytes of a journal record and back, one member at a time.
//!
//! Each snapshot type has a function `journal_fields(field, snapshot)`, which calls `field` as
//! codec/detail/member_bytes.hpp describes.
#ifndef SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP
#define SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP

#include <specverify/codec/detail/member_bytes.hpp>
#include <specverify/codec/message_types.hpp>
#include <specverify/session/output.hpp>

#include <cstddef>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

struct edge_snapshot_head;  // session/snapshot.hpp
struct cloud_snapshot;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

template <class Snapshot>
[[nodiscard]] constexpr std::size_t snapshot_bytes() noexcept {
  member_counter field;
  const Snapshot any{};
  journal_fields(field, any);
  return field.bytes();
}
template <class Snapshot>
void store_snapshot(const Snapshot& snapshot, std::byte* at) noexcept {
  member_writer field(at);
  journal_fields(field, snapshot);
}
//! Reads a snapshot. Returns false if a bool or an enum has an invalid value.
template <class Snapshot>
[[nodiscard]] bool load_snapshot(Snapshot& snapshot, const std::byte* at) noexcept {
  member_reader field(at);
  journal_fields(field, snapshot);
  return field.good();
}

}  // namespace detail

//! Calls `field` for each member of a snapshot: `field(number)`, `field(enum, last)` or `field.state(value)`. `Self`
//! may be const.
template <class Field, class Self>
constexpr void journal_fields(Field& field, Self& head) noexcept requires std::is_base_of_v<edge_snapshot_head, Self> {
  detail::each(field, head.session_id, head.prefix_hash);
  auto& seen = head.seen;
  detail::each(field, seen.round, seen.position, seen.last_drafted, seen.last_accepted, seen.drafted, seen.accepted,
               seen.draft_bytes, seen.uplink_rate, seen.downlink_rate, seen.round_trip, seen.draft_time,
               seen.uplink_state, seen.last_resolution, seen.accepted_probability);
  for (auto& known : seen.acceptance) detail::each(field, known.resolution, known.mean);
  detail::each(field, head.channel.uplink_rate, head.channel.downlink_rate, head.channel.uplink_loss,
               head.channel.downlink_loss, head.channel.round_trip);
  for (auto& word : head.draft_key.word) field(word);
  detail::terms_fields(field, head.terms, head.prompt_length);
  field(head.terms.noise, last_noise_kind);
  detail::each(field, head.round, head.length, head.carry_round, head.carry_end, head.base_length);
  field(head.stop, stop_reason::cancelled);
  detail::both(field, head.finished, head.needs_no_more);
  if constexpr (requires { head.sparsifier; }) field.state(head.sparsifier);
}

template <class Field, class Self>
constexpr void journal_fields(Field& field,
                              Self& cloud) noexcept requires std::is_same_v<const Self, const cloud_snapshot> {
  detail::each(field, cloud.session_id, cloud.prefix_hash, cloud.target.hash, cloud.salt);
  detail::terms_fields(field, cloud.terms, cloud.prompt_length);
  field(cloud.terms.noise, last_noise_kind);
  detail::each(field, cloud.last.round, cloud.last.accepted, cloud.last.source, cloud.last.stop, cloud.last.digest,
               cloud.round, cloud.length, cloud.target.length);
  field(cloud.stop, stop_reason::cancelled);
  field(cloud.target.handed_over);
}

SPECVERIFY_NAMESPACE_END

#endif
