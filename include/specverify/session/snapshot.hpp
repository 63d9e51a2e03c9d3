// SPDX-License-Identifier: Apache-2.0
//! What a restarted session needs: the snapshot that a journal record of an edge or a cloud holds.
//!
//! Use it to look into a journal: `read_journal<Snapshot>(bytes, text)` gives the text and the last snapshot.
//! Guarantees: trivially copyable. A journal holds the members one by one, in the order of `journal_fields`, so
//!             that none of its bytes is padding; a sparsifier's state is copied as it stands in memory.
//! See:        docs/algorithms/journal.md, docs/session.md, tests/unit/session/snapshot_test.cpp
#ifndef SPECVERIFY_SESSION_SNAPSHOT_HPP
#define SPECVERIFY_SESSION_SNAPSHOT_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/random.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/session/detail/record_fields.hpp>
#include <specverify/session/output.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

//! A wire_format as a journal holds it.
struct recorded_format {
  law_format format = law_format::sparse_drop_zero;
  std::uint32_t vocab_size = 0;
  std::uint32_t resolution = 0;
  std::uint32_t support_size = 0;
  std::uint32_t max_draft_length = 0;
  std::uint32_t pad_to = 1;
  attachment_format attachments{};

  SPECVERIFY_INLINE constexpr void hold(const wire_format& agreed) noexcept {
    format = agreed.format;
    vocab_size = agreed.vocab_size;
    resolution = agreed.resolution;
    support_size = agreed.support_size;
    max_draft_length = agreed.max_draft_length;
    pad_to = agreed.pad_to;
    attachments = agreed.attachments;
  }
  [[nodiscard]] SPECVERIFY_INLINE constexpr wire_format value() const noexcept {
    return {{format, resolution, support_size, max_draft_length, pad_to, attachments}, vocab_size};
  }
};

//! What a session's hello said: it holds as long as the session.
struct recorded_terms {
  recorded_format format{};
  std::uint64_t fingerprint_low = 0;
  std::uint64_t fingerprint_high = 0;
  double threshold = 0.5;    //!< of the semantic rule
  double temperature = 1.0;  //!< what the edge's hello asks for
  row_truncation truncation{};
  std::uint32_t token_budget = 0;
  std::uint32_t text_chunk = 0;  //!< of either side's text messages
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  bool bonus = true;
};

//! Of an edge, written with the ids before a round's first message; the same for every sparsifier.
struct edge_snapshot_head {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  observation seen{};
  channel_report channel{};
  philox_key draft_key{};
  recorded_terms terms{};
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  //! drafts before position carry_end have counters of this round: they were written ahead in it
  std::uint32_t carry_round = 0;
  std::uint32_t carry_end = 0;
  //! the part that the cloud has; the rest was committed here alone. prefix_hash is that of this part
  std::uint32_t base_length = 0;
  stop_reason stop = stop_reason::none;
  bool finished = false;
  bool draw_from_row = false;
};

//! With what the edge's sparsifier learnt.
template <class SparsifierState>
struct edge_snapshot : edge_snapshot_head {
  SparsifierState sparsifier{};
};

//! Of a cloud, written with the ids before every answer.
struct cloud_snapshot {
  std::uint64_t session_id = 0;
  std::uint64_t prefix_hash = 0;
  std::uint64_t target_hash = 0;
  std::uint64_t nonce = 0;      //!< of the last edge that came without a journal
  std::uint64_t kept_hash = 0;  //!< prefix of the kept verdict
  std::uint64_t salt = 0;       //!< of the key of the verdicts
  recorded_terms terms{};
  feedback_message kept{};       //!< the last verdict
  std::uint32_t kept_round = 0;  //!< 0: none
  std::uint32_t kept_base = 0;
  std::uint32_t kept_drafted = 0;
  std::uint32_t kept_skipped = 0;
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  std::uint32_t target_length = 0;
  std::uint32_t target_round = 0;
  stop_reason stop = stop_reason::none;
  std::uint8_t next_number = 0;
  std::uint8_t heard_number = 0;
  bool heard_any = false;
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Members in the order of the journal. `Self`: the structure, const or not.
template <class Field, class Self>
constexpr void format_fields(Field& field, Self& format) noexcept {
  field(format.format, law_format::top_k_tail);
  field(format.vocab_size);
  field(format.resolution);
  field(format.support_size);
  field(format.max_draft_length);
  field(format.pad_to);
  field(format.attachments.hidden_size);
  field(format.attachments.hidden, hidden_format::int8);
  field(format.attachments.hidden_with_draft);
  field(format.attachments.channel_report);
  field(format.attachments.max_skipped);
  field(format.attachments.resolution_with_draft);
}

template <class Field, class Self>
constexpr void terms_fields(Field& field, Self& terms) noexcept {
  format_fields(field, terms.format);
  field(terms.fingerprint_low);
  field(terms.fingerprint_high);
  field(terms.threshold);
  field(terms.temperature);
  field(terms.truncation.top_k);
  field(terms.truncation.top_p);
  field(terms.truncation.min_p);
  field(terms.truncation.order, truncation_order::top_p_then_top_k);
  field(terms.token_budget);
  field(terms.text_chunk);
  field(terms.rule, wire_rule::semantic);
  field(terms.mode, session_mode::stream);
  field(terms.bonus);
}

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
  terms_fields(field, head.terms);
  field(head.epoch);
  field(head.round);
  field(head.prompt_length);
  field(head.length);
  field(head.carry_round);
  field(head.carry_end);
  field(head.base_length);
  field(head.stop, stop_reason::budget);
  field(head.finished);
  field(head.draw_from_row);
}

template <class Field, class Self>
constexpr void cloud_fields(Field& field, Self& cloud) noexcept {
  field(cloud.session_id);
  field(cloud.prefix_hash);
  field(cloud.target_hash);
  field(cloud.nonce);
  field(cloud.kept_hash);
  field(cloud.salt);
  terms_fields(field, cloud.terms);
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
  field(cloud.prompt_length);
  field(cloud.length);
  field(cloud.target_length);
  field(cloud.target_round);
  field(cloud.stop, stop_reason::budget);
  field(cloud.next_number);
  field(cloud.heard_number);
  field(cloud.heard_any);
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
