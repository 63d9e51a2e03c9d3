// SPDX-License-Identifier: Apache-2.0
//! Holds two parts of a cloud's state: the drafts of the open round, and the scores of the semantic rule.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_VIEWS_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_VIEWS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/verify/semantic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The drafts of the open round as received: with distributions, with claimed distributions and probabilities in rows,
//! or only as ids. Also holds the number of tokens that the edge committed alone before the drafts.
struct received_drafts {
  received_drafts(const cloud_options& options, received_draft_block&& block);

  //! Contents of one draft message. Decoding does not change the open round.
  struct contents {
    std::uint32_t drafts = 0;
    draft_attachments attachments{};
  };
  [[nodiscard]] result<contents> read(const wire_place& place, const wire_format& format,
                                      std::span<const std::byte> message, const prior_text& known) noexcept;
  //! Returns token `i` of the last message that `read` decoded.
  [[nodiscard]] token_id token(std::uint32_t i, bool laws_travel) const noexcept {
    return laws_travel ? with_laws[i].token() : alone[i].token;
  }
  [[nodiscard]] std::span<const claimed_draft> without_laws() const noexcept {
    return std::span<const claimed_draft>(alone).first(size);
  }
  void open(std::uint32_t drafts, std::uint32_t committed_alone) noexcept {
    size = drafts;
    skipped = committed_alone;
  }

  received_draft_block with_laws;
  owned_memory<mismatched_draft> of_rows;
  owned_memory<claimed_draft> alone;
  untouched_memory<token_id> skipped_ids;
  untouched_memory<std::byte> decode_space;
  std::uint32_t size = 0;     //!< number of drafts in the open round
  std::uint32_t skipped = 0;  //!< skipped tokens before the drafts, which only the edge has committed
};

//! State of a round under the semantic rule: drafts that differ from the target's argmax, scores, and open requests.
class round_scoring {
 public:
  owned_memory<std::uint64_t> mismatches;
  owned_memory<std::uint64_t> asked;  //!< mismatches whose scores or vectors are requested now

  explicit round_scoring(const cloud_limits& limits);

  //! Keeps the hidden vectors of a round's drafts, which must be within the limits in total.
  void keep_hidden(std::span<const std::byte> vectors) noexcept {
    std::copy(vectors.begin(), vectors.end(), hidden_.begin());
  }
  template <class Policy, class Draft, class Rows>
  [[nodiscard]] status compare(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                               const verify_request& request) noexcept {
    scored_ = 0;
    return compare_greedily(policy, drafts, rows, request, {best_, mismatches, near_ties_});
  }
  //! Decides with the scores that have arrived so far. `threshold` and V must be the values in the hello.
  template <class Draft>
  [[nodiscard]] result<verdict> decide(std::span<const Draft> drafts, double threshold, const verify_request& request,
                                       std::uint32_t vocab_size) noexcept {
    return decide_semantically(drafts, {best_, mismatches, near_ties_}, std::span<const double>(scores_).first(scored_),
                               threshold, request, vocab_size);
  }
  //! Requests the mismatches at or after `from` among `drafted` drafts, or only the first if `one` is true. Otherwise
  //! also moves the hidden vectors of these mismatches, of `each` bytes, to the front. `each` is 0 if there are no
  //! vectors.
  void ask(std::uint32_t from, std::uint32_t drafted, bool one, std::size_t each) noexcept {
    std::size_t used = 0;
    std::fill(asked.begin(), asked.end(), std::uint64_t{0});
    for (std::uint32_t i = next_position(mismatches, from); i < drafted; i = next_position(mismatches, i + 1)) {
      asked[i / 64] |= std::uint64_t{1} << (i % 64);
      if (one) break;
      if (each == 0) continue;
      std::copy_n(hidden_.begin() + static_cast<std::ptrdiff_t>(each * i), each,
                  hidden_.begin() + static_cast<std::ptrdiff_t>(used));
      used += each;
    }
  }
  //! Returns the requested vectors, `each` bytes per vector.
  [[nodiscard]] std::span<const std::byte> asked_hidden(std::size_t each) const noexcept {
    return std::span<const std::byte>(hidden_).first(position_count(asked) * each);
  }
  void take(std::span<const double> scores) noexcept {
    for (const double score : scores) scores_[scored_++] = score;
  }

 private:
  owned_memory<token_id> best_;  // argmax of each row
  owned_memory<std::uint64_t> near_ties_;
  owned_memory<double> scores_;
  untouched_memory<std::byte> hidden_;
  std::uint32_t scored_ = 0;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#if SPECVERIFY_BODIES
#include <specverify/codec/message.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

SPECVERIFY_BODY received_drafts::received_drafts(const cloud_options& options, received_draft_block&& block)
    : with_laws(std::move(block)),
      of_rows(options.limits.max_draft_length),
      alone(options.limits.max_draft_length),
      skipped_ids(options.limits.max_skipped),
      decode_space(detail::decode_space(std::min(options.limits.max_law_entries, options.vocab_size)) +
                   workspace_alignment) {}

SPECVERIFY_BODY round_scoring::round_scoring(const cloud_limits& limits)
    : mismatches(position_words(limits.max_draft_length)),
      asked(mismatches.size()),
      best_(std::size_t{limits.max_draft_length} + 1),
      near_ties_(mismatches.size()),
      scores_(limits.max_draft_length),
      hidden_(limits.max_hidden_bytes) {}

SPECVERIFY_BODY result<received_drafts::contents> received_drafts::read(const wire_place& place,
                                                                        const wire_format& format,
                                                                        std::span<const std::byte> message,
                                                                        const prior_text& known) noexcept {
  if (!carries_laws(format.format)) {
    const result<claims_message> read = decode_claims(place, format, message, alone, skipped_ids, known);
    if (!read) return read.error();
    return contents{static_cast<std::uint32_t>(read->claims.size()), read->attachments};
  }
  workspace scratch{std::span<std::byte>(decode_space)};
  const result<draft_attachments> attachments = decode_draft(place, format, message, with_laws, skipped_ids, scratch);
  if (!attachments) return attachments.error();
  std::span<const std::byte> probabilities = attachments->probabilities;
  for (std::uint32_t i = 0; !probabilities.empty(); ++i) {
    const auto units = decode_drafted_probability(probabilities.first(drafted_probability_bytes));
    if (!units) return units.error();
    of_rows[i] = {with_laws[i].token(), with_laws[i].source_law(), *units, drafted_probability_unit};
    probabilities = probabilities.subspan(drafted_probability_bytes);
  }
  return contents{with_laws.size(), *attachments};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>
#endif

#endif
