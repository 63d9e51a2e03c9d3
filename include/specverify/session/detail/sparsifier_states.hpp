// SPDX-License-Identifier: Apache-2.0
//! What a sparsifier has learnt, as bytes: after the committed text, along the open round, and along tokens that are
//! written ahead.
#ifndef SPECVERIFY_SESSION_DETAIL_SPARSIFIER_STATES_HPP
#define SPECVERIFY_SESSION_DETAIL_SPARSIFIER_STATES_HPP

#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/edge_drafts.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/sparsify/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The round has a state before each draft, one after the last, and perhaps one beyond: after a law that was made and
//! not drawn from. The probabilities that the row gave the drafts stand with them, if the window asks for those.
class sparsifier_states {
 public:
  sparsifier_states(std::size_t state_bytes, std::uint32_t max_draft_length, bool with_probabilities)
      : each_(state_bytes),
        round_(each_ * (std::size_t{max_draft_length} + 1)),
        ahead_(2 * each_),
        snapshot_(head_bytes + each_),
        probabilities_(with_probabilities ? max_draft_length : 0) {}

  //! After the committed text. It stands in the snapshot of the next journal record.
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
    beyond_known_ = false;
  }
  //! The state after draft `i`, which is yet that before it.
  [[nodiscard]] std::byte* next(std::uint32_t i) noexcept {
    copy(at(i), at(i + 1));
    return at(i + 1);
  }
  //! The window refused the law after the last draft. `counts`: for a bonus token the sparsifier learns from it.
  void end_before(bool counts) noexcept { beyond_known_ = counts; }
  void set_probability(std::uint32_t i, float probability) noexcept {
    if (!probabilities_.empty()) probabilities_[i] = probability;
  }
  //! Of the first drafts; empty where the window does not ask.
  [[nodiscard]] std::span<const float> probabilities(std::uint32_t drafts) const noexcept {
    return {probabilities_.data(), probabilities_.empty() ? 0 : drafts};
  }

  //! The first token of the round stands, and the cloud is not asked.
  void commit_first() noexcept { copy(at(1), committed()); }
  //! The round is decided: the state after its last token that stands becomes the committed one.
  void commit(std::uint32_t accepted, std::uint32_t drafted, bool bonus) noexcept {
    copy(at(resumed_state(accepted, drafted, beyond_known_ && bonus)), committed());
  }

  [[nodiscard]] bool beyond_known() const noexcept { return beyond_known_; }
  void store(draft_record& kept) const noexcept {
    std::copy_n(round_.begin(), kept.states() * each_, kept.state(0));
    const std::span<std::byte> room = kept.probabilities();
    if (!room.empty()) std::memcpy(room.data(), probabilities_.data(), room.size());
  }
  void load(draft_record& kept) noexcept {
    beyond_known_ = kept.kept().beyond != 0;
    std::copy_n(kept.state(0), kept.states() * each_, round_.begin());
    const std::span<std::byte> known = kept.probabilities();
    if (!known.empty()) std::memcpy(probabilities_.data(), known.data(), known.size());
  }

  //! Tokens ahead go on from the round's last draft.
  void begin_ahead(std::uint32_t drafted) noexcept { copy(at(drafted), ahead_.data()); }
  //! The state after the next token ahead, which is yet that before it. It counts once it is kept.
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
  bool beyond_known_ = false;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
