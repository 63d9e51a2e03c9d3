// SPDX-License-Identifier: Apache-2.0
//! Holds three parts of an edge's state: tokens written ahead of the cloud, the link, and the sparsifier's learned
//! states.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_VIEWS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_VIEWS_HPP

#include <specverify/policy/observation.hpp>
#include <specverify/session/detail/edge_drafts.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/sparsify/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! State of the tokens that are written ahead of the cloud while the link is lost: the time of the next token, the
//! range of shown tokens, and the round whose random numbers draw the tokens.
struct ahead_view {
  std::optional<session_time> deadline{};
  bool writing = false;           //!< the engine works on a row for a token after the open round's drafts
  std::uint32_t shown_end = 0;    //!< end of the tokens after the open round's drafts that the host was shown
  std::uint32_t round = 0;        //!< round whose random numbers draw the tokens ahead
  std::uint32_t carry_round = 0;  //!< round whose random numbers draw the drafts before `carry_end`
  std::uint32_t carry_end = 0;

  void stop() noexcept {
    deadline.reset();
    writing = false;
  }
  //! Called when the round is decided: keeps or forgets the tokens that were shown ahead.
  void carry_on(bool keep) noexcept {
    carry_round = keep ? round : 0;
    carry_end = keep ? shown_end : 0;
    if (!keep) shown_end = 0;
  }
};

//! The round and the link as the policies see them. New measurements become visible only in the next round, because a
//! round that is drafted again after a restart must see the same values.
struct link_view {
  observation seen{};
  observation measured{};
  channel_report channel{};
  channel_report measured_channel{};
  bool lost = false;

  //! Called between two rounds: makes the latest measurements visible to the policies and the journal.
  void note() noexcept {
    seen.uplink_rate = measured.uplink_rate;
    seen.downlink_rate = measured.downlink_rate;
    seen.round_trip = measured.round_trip;
    seen.draft_time = measured.draft_time;
    seen.uplink_state = measured.uplink_state;
    channel = measured_channel;
  }
  void restore(const observation& recorded, const channel_report& reported) noexcept {
    seen = measured = recorded;
    channel = measured_channel = reported;
  }
};

//! The learned states of a sparsifier, as bytes: after the committed text, along the open round, and along the tokens
//! written ahead. A round has a state before each draft and one after the last draft. If the window refused a further
//! distribution, there is one more. If the window needs the drafts' probabilities in the rows, this class also keeps
//! them.
class sparsifier_states {
 public:
  //! Whether the window refused a distribution after the last draft. If a bonus token follows, the sparsifier learns
  //! from this distribution.
  bool beyond_known = false;

  sparsifier_states(std::size_t state_bytes, std::uint32_t max_draft_length, bool with_probabilities)
      : each_(state_bytes),
        round_(each_ * (std::size_t{max_draft_length} + 1)),
        ahead_(2 * each_),
        snapshot_(head_bytes + each_),
        probabilities_(with_probabilities ? max_draft_length : 0) {}

  //! Returns the state after the committed text, which is a part of the snapshot of the next journal record.
  [[nodiscard]] std::byte* committed() noexcept { return snapshot_.data() + head_bytes; }
  [[nodiscard]] std::size_t snapshot_bytes() const noexcept { return snapshot_.size(); }
  [[nodiscard]] std::span<const std::byte> snapshot(const edge_snapshot_head& head) noexcept {
    store_snapshot(head, snapshot_.data());
    return snapshot_;
  }
  void restore(std::span<const std::byte> snapshot) noexcept {
    std::copy(snapshot.begin(), snapshot.end(), snapshot_.begin());
  }

  void begin_round() noexcept {
    copy(committed(), at(0));
    beyond_known = false;
  }
  //! Returns the state to update for draft `i`, initially a copy of the previous state.
  [[nodiscard]] std::byte* next(std::uint32_t i) noexcept {
    copy(at(i), at(i + 1));
    return at(i + 1);
  }
  void set_probability(std::uint32_t i, float probability) noexcept {
    if (!probabilities_.empty()) probabilities_[i] = probability;
  }
  //! Returns the probabilities of the first `drafts` drafts; empty if the window does not need them.
  [[nodiscard]] std::span<const float> probabilities(std::uint32_t drafts) const noexcept {
    return {probabilities_.data(), probabilities_.empty() ? 0 : drafts};
  }

  //! Called when the edge commits the first token of the round without the cloud.
  void commit_first() noexcept { copy(at(1), committed()); }
  //! Called when the round is decided: the state after the last kept token becomes the committed state.
  void commit(std::uint32_t accepted, std::uint32_t drafted, bool bonus) noexcept {
    copy(at(resumed_state(accepted, drafted, beyond_known && bonus)), committed());
  }

  void store(const draft_record::parts& kept) const noexcept {
    std::copy_n(round_.begin(), kept.states.size(), kept.states.begin());
    if (!kept.probabilities.empty())
      std::memcpy(kept.probabilities.data(), probabilities_.data(), kept.probabilities.size());
  }
  void load(const draft_record::parts& kept, bool beyond) noexcept {
    beyond_known = beyond;
    std::copy_n(kept.states.begin(), kept.states.size(), round_.begin());
    if (!kept.probabilities.empty())
      std::memcpy(probabilities_.data(), kept.probabilities.data(), kept.probabilities.size());
  }

  //! Begins the tokens ahead, which continue from the state after the last draft of the round.
  void begin_ahead(std::uint32_t drafted) noexcept { copy(at(drafted), ahead_.data()); }
  //! Returns the state to update for the next token ahead: a copy of the last state. The update counts only after
  //! `keep_ahead`.
  [[nodiscard]] std::byte* next_ahead() noexcept {
    copy(ahead_.data(), ahead_.data() + each_);
    return ahead_.data() + each_;
  }
  void keep_ahead() noexcept { copy(ahead_.data() + each_, ahead_.data()); }

 private:
  static constexpr std::size_t head_bytes = detail::snapshot_bytes<edge_snapshot_head>();

  [[nodiscard]] std::byte* at(std::uint32_t i) noexcept { return round_.data() + each_ * i; }
  void copy(const std::byte* from, std::byte* to) const noexcept { std::copy_n(from, each_, to); }

  std::size_t each_;
  owned_memory<std::byte> round_;
  owned_memory<std::byte> ahead_;
  owned_memory<std::byte> snapshot_;
  owned_memory<float> probabilities_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
