// SPDX-License-Identifier: Apache-2.0
//! What a cloud keeps in mind: the kept verdict, the text that it fetches, the drafts of the open round, and
//! their scoring.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_VIEWS_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_VIEWS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/detail/text_place.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/verify/semantic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The last verdict, which is given again to whoever asks again. Round 0: none.
struct kept_verdict {
  feedback_message verdict{};
  std::uint64_t hash = 0;  //!< of the text before its round
  std::uint32_t round = 0;
  std::uint32_t base = 0;
  std::uint32_t drafted = 0;
  std::uint32_t skipped = 0;

  [[nodiscard]] bool any() const noexcept { return round != 0; }
  //! Of its question, in the epoch of `place`.
  [[nodiscard]] wire_context context(const text_place& place, std::uint8_t transmission = 0) const noexcept {
    return place.context_at(round, base, hash, transmission);
  }
};

//! Where the edge stands: the text that is wanted from it when it has more.
struct text_target {
  std::uint32_t length = 0;  //!< 0: nothing is wanted
  std::uint32_t round = 0;
  std::uint64_t hash = 0;
  bool handed_over = false;  //!< text beyond the prompt came from the edge: nobody here verified it
};

//! The drafts of the open round as they arrived, with laws, with claimed laws and their probabilities in rows, or
//! alone, and the tokens before them that the edge committed alone.
class received_drafts {
 public:
  received_drafts(const cloud_options& options, received_draft_block&& block);

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t skipped() const noexcept { return skipped_count_; }
  [[nodiscard]] std::span<const received_draft> with_laws() const noexcept { return with_laws_.drafts(); }
  [[nodiscard]] std::span<const mismatched_draft> of_rows() const noexcept {
    return std::span<const mismatched_draft>(of_rows_).first(size_);
  }
  [[nodiscard]] std::span<const claimed_draft> alone() const noexcept {
    return std::span<const claimed_draft>(alone_).first(size_);
  }
  //! What one draft message holds; nothing enters the open round yet.
  struct contents {
    std::uint32_t drafts = 0;
    draft_attachments attachments{};
  };
  //! Takes a draft message apart.
  [[nodiscard]] result<contents> read(const wire_context& context, const wire_format& format,
                                      std::span<const std::byte> message) noexcept;
  //! Token `i` of the message that was read last.
  [[nodiscard]] token_id token(std::uint32_t i, bool laws_travel) const noexcept {
    return laws_travel ? with_laws_[i].token() : alone_[i].token;
  }
  void open(std::uint32_t drafts, std::uint32_t skipped) noexcept {
    size_ = drafts;
    skipped_count_ = skipped;
  }
  //! The tokens committed alone are text now.
  void settle() noexcept { skipped_count_ = 0; }

 private:
  received_draft_block with_laws_;
  owned_memory<mismatched_draft> of_rows_;
  owned_memory<claimed_draft> alone_;
  untouched_memory<token_id> skipped_;
  untouched_memory<std::byte> decode_space_;
  std::uint32_t size_ = 0;
  std::uint32_t skipped_count_ = 0;
};

//! A round under the semantic rule: where the drafts differ from the target's argmax, what is known of these, what is
//! asked.
class round_scoring {
 public:
  explicit round_scoring(const cloud_limits& limits);

  //! Vectors of a round's drafts, within the limits.
  void keep_hidden(std::span<const std::byte> vectors) noexcept {
    std::copy(vectors.begin(), vectors.end(), hidden_.begin());
  }
  template <class Policy, class Draft, class Rows>
  [[nodiscard]] status compare(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                               const verify_request& request) noexcept {
    scored_ = 0;
    return compare_greedily(policy, drafts, rows, request, {best_, mismatches_, near_ties_});
  }
  //! With the scores so far. `threshold` and V as hello said.
  template <class Draft>
  [[nodiscard]] result<verdict> decide(std::span<const Draft> drafts, double threshold, const verify_request& request,
                                       std::uint32_t vocab_size) noexcept {
    return decide_semantically(drafts, {best_, mismatches_, near_ties_},
                               std::span<const double>(scores_).first(scored_), threshold, request, vocab_size);
  }
  [[nodiscard]] std::uint32_t mismatches() const noexcept { return position_count(mismatches_); }
  //! Asks about the mismatches from `from` on among `drafted` drafts; about the first one alone if `one`. With `each`
  //! bytes of a vector its asked ones move to the front (0: they are not here).
  void ask(std::uint32_t from, std::uint32_t drafted, bool one, std::size_t each) noexcept {
    std::size_t used = 0;
    std::fill(asked_.begin(), asked_.end(), std::uint64_t{0});
    for (std::uint32_t i = next_position(mismatches_, from); i < drafted; i = next_position(mismatches_, i + 1)) {
      asked_[i / 64] |= std::uint64_t{1} << (i % 64);
      if (one) break;
      if (each == 0) continue;
      std::copy_n(hidden_.begin() + static_cast<std::ptrdiff_t>(each * i), each,
                  hidden_.begin() + static_cast<std::ptrdiff_t>(used));
      used += each;
    }
  }
  [[nodiscard]] std::span<const std::uint64_t> asked() const noexcept { return asked_; }
  [[nodiscard]] std::uint32_t asked_count() const noexcept { return position_count(asked_); }
  //! The vectors that were asked for, of `each` bytes.
  [[nodiscard]] std::span<const std::byte> asked_hidden(std::size_t each) const noexcept {
    return std::span<const std::byte>(hidden_).first(asked_count() * each);
  }
  void take(std::span<const double> scores) noexcept {
    for (const double score : scores) scores_[scored_++] = score;
  }

 private:
  owned_memory<token_id> best_;  // argmax of each row
  owned_memory<std::uint64_t> mismatches_;
  owned_memory<std::uint64_t> near_ties_;
  owned_memory<std::uint64_t> asked_;  // of the mismatches, those whose scores or vectors are wanted now
  owned_memory<double> scores_;
  untouched_memory<std::byte> hidden_;
  std::uint32_t scored_ = 0;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
