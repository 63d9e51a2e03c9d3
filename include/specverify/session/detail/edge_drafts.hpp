// SPDX-License-Identifier: Apache-2.0
//! The drafts of an edge's open round, and their hidden states.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_DRAFTS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_DRAFTS_HPP

#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/formats.hpp>
#include <specverify/session/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The round's drafts as they will travel: with laws that they were drawn from, with claimed laws and their own
//! probabilities (draw_from_row), or alone. Complete: nothing is drafted any more, the cloud is asked. Laws of both
//! kinds travel in one way, so they are kept in one block.
class edge_drafts {
 public:
  //! Errors: those of basic_draft_block::make.
  [[nodiscard]] static result<edge_drafts> make(const edge_options& options);

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t planned() const noexcept { return planned_; }
  //! Of the round's laws.
  [[nodiscard]] std::uint32_t resolution() const noexcept { return resolution_; }
  //! Bits of the laws so far, as the window counts them.
  [[nodiscard]] std::uint64_t charged() const noexcept { return charged_; }
  [[nodiscard]] bool is_complete() const noexcept { return complete_; }

  void begin(std::uint32_t planned, std::uint32_t resolution) noexcept {
    clear();
    charged_ = 0;
    planned_ = planned;
    resolution_ = resolution;
  }
  void clear() noexcept {
    with_laws_.clear();
    size_ = 0;
    complete_ = false;
  }
  //! Complete again, as a journal kept them. Their laws stand in the message alone.
  void restore(std::span<const token_id> tokens, std::uint32_t resolution) noexcept {
    clear();
    for (const token_id token : tokens) add(token);
    resolution_ = resolution;
    complete_ = true;
  }
  [[nodiscard]] token_id token(std::uint32_t i) const noexcept { return tokens_[i].token; }
  void charge(std::uint64_t bits) noexcept { charged_ = bits; }
  //! The law of the draft that `add` counts next.
  [[nodiscard]] status push(const draft& drawn) noexcept {
    return with_laws_.push(claim{drawn.token(), drawn.source_law()});
  }
  //! The same for a token of the row, where its probability was count / resolution.
  [[nodiscard]] status push(const claim& drawn, std::uint32_t count, std::uint32_t resolution) noexcept {
    const auto at = std::span<std::byte>(probabilities_).subspan(drafted_probability_bytes * size_);
    const auto written = encode_drafted_probability(count, resolution, at);
    return written ? with_laws_.push(drawn) : written.error();
  }
  //! Of the drafts, as they travel; empty where they are drawn from their laws.
  [[nodiscard]] std::span<const std::byte> probabilities() const noexcept {
    const std::size_t used = probabilities_.empty() ? 0 : drafted_probability_bytes * size_;
    return std::span<const std::byte>(probabilities_).first(used);
  }
  void add(token_id token) noexcept { tokens_[size_++] = {token, 0, 0}; }
  void complete() noexcept { complete_ = true; }

  //! Bytes of the message with these drafts.
  [[nodiscard]] result<std::size_t> bytes(const edge_options& options) const noexcept;
  [[nodiscard]] result<std::span<std::byte>> encode(const wire_context& context, const edge_options& options,
                                                    const draft_attachments& attachments,
                                                    std::span<std::byte> out) const noexcept;

 private:
  edge_drafts(basic_draft_block<claim>&& with_laws, const wire_format& format)
      : with_laws_(std::move(with_laws)),
        tokens_(format.max_draft_length),
        probabilities_(format.attachments.drafted_probability ? drafted_probability_bytes * format.max_draft_length
                                                              : 0) {}

  basic_draft_block<claim> with_laws_;
  owned_memory<claimed_draft> tokens_;
  owned_memory<std::byte> probabilities_;
  std::uint64_t charged_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t planned_ = 0;
  std::uint32_t resolution_ = 0;
  bool complete_ = false;
};

//! Vectors of the round's drafts, as they travel: with the draft, or those that the cloud asks for.
class hidden_store {
 public:
  hidden_store(const attachment_format& format, std::uint32_t drafts)
      : each_(hidden_bytes(format)),
        vectors_(each_ * drafts),
        payload_(vectors_.size()),
        asked_((std::size_t{drafts} + 63) / 64),
        supplied_(asked_.size()) {}

  [[nodiscard]] bool empty() const noexcept { return vectors_.empty(); }
  //! As a journal kept the vectors of the first drafts.
  void restore(std::span<const std::byte> vectors) noexcept {
    begin_round();
    std::copy(vectors.begin(), vectors.end(), vectors_.begin());
  }
  [[nodiscard]] std::span<const std::byte> first(std::uint32_t drafts) const noexcept {
    return std::span<const std::byte>(vectors_).first(each_ * drafts);
  }
  //! Whether the request of `note_request` named a draft for the first time.
  [[nodiscard]] bool is_fresh() const noexcept { return fresh_; }
  //! Words that a request is decoded into.
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return asked_; }

  void begin_round() noexcept { std::fill(supplied_.begin(), supplied_.end(), std::uint64_t{0}); }
  //! The vector of draft `i`. Errors: those of encode_hidden.
  [[nodiscard]] status keep(std::uint32_t i, std::span<const float> hidden, hidden_format format) noexcept {
    return encode_hidden(hidden, format, std::span<std::byte>(vectors_).subspan(each_ * i, each_)).error();
  }
  //! The first `count` words say which drafts are asked for.
  void note_request(std::size_t count) noexcept {
    fresh_ = false;
    for (std::size_t i = 0; i < count; ++i) {
      fresh_ = fresh_ || (asked_[i] & ~supplied_[i]) != 0;
      supplied_[i] |= asked_[i];
    }
  }
  //! The vectors that were asked for, of `drafts` drafts.
  [[nodiscard]] supply_message supply(std::uint32_t drafts) noexcept {
    std::size_t used = 0;
    for (std::uint32_t i = 0; i < drafts; ++i) {
      if ((asked_[i / 64] >> (i % 64) & 1u) == 0) continue;
      std::copy_n(vectors_.begin() + static_cast<std::ptrdiff_t>(each_ * i), each_,
                  payload_.begin() + static_cast<std::ptrdiff_t>(used));
      used += each_;
    }
    return {1, std::span<const std::uint64_t>(asked_).first((std::size_t{drafts} + 63) / 64),
            std::span<const std::byte>(payload_).first(used)};
  }

 private:
  std::size_t each_;
  untouched_memory<std::byte> vectors_;
  untouched_memory<std::byte> payload_;
  owned_memory<std::uint64_t> asked_;
  owned_memory<std::uint64_t> supplied_;
  bool fresh_ = false;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
