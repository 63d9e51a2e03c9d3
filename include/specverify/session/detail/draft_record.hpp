// SPDX-License-Identifier: Apache-2.0
//! The complete draft of an edge's open round, as its journal keeps it from before it is sent until it is decided.
#ifndef SPECVERIFY_SESSION_DETAIL_DRAFT_RECORD_HPP
#define SPECVERIFY_SESSION_DETAIL_DRAFT_RECORD_HPP

#include <specverify/codec/message.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/session/detail/record_fields.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/statistics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! What a kept draft says of itself, and what its parts are counted by.
struct kept_draft {
  std::uint32_t round = 0;
  std::uint32_t length = 0;      //!< of the committed text
  std::uint32_t drafts = 0;      //!< L
  std::uint32_t resolution = 0;  //!< l of the round
  std::uint32_t beyond = 0;      //!< 1: there is a state behind a law that was made and not drawn from
  std::uint32_t clamped = 0;     //!< of round_record
  std::uint32_t body = 0;        //!< bytes of the message behind its header
  std::uint64_t support_sum = 0;
};
template <class Field, class Kept>
constexpr void journal_fields(Field& field, Kept& kept) noexcept requires std::is_same_v<const Kept, const kept_draft> {
  field(kept.round);
  field(kept.length);
  field(kept.drafts);
  field(kept.resolution);
  field(kept.beyond);
  field(kept.clamped);
  field(kept.body);
  field(kept.support_sum);
}

//! {kept_draft, tokens, body of the message, states of the sparsifier before each draft and behind the last,
//! probabilities, hidden states}. The body depends on no epoch: a header of the present one makes it a message.
class draft_record {
 public:
  //! `state_bytes`: of one state; `observes`: the window asks for probabilities; `message_bytes`: of the longest.
  draft_record(const edge_options& options, std::size_t state_bytes, bool observes, std::size_t message_bytes)
      : format_(format_of(options)), state_bytes_(state_bytes), probability_bytes_(observes ? sizeof(float) : 0) {
    if (!format_.attachments.hidden_with_draft) hidden_bytes_ = hidden_bytes(format_.attachments);
    kept_draft most;
    most.drafts = format_.max_draft_length;
    most.beyond = 1;
    most.body = static_cast<std::uint32_t>(message_bytes);
    std::size_t room = total(most);
    if (options.journal_drafts == draft_journaling::automatic)
      room = std::min<std::size_t>(room, automatic_draft_record);
    if (options.journal_drafts != draft_journaling::never && options.mode == session_mode::draft)
      bytes_ = untouched_memory<std::byte>(room);
  }

  //! Whether drafts are kept at all, and whether one is.
  [[nodiscard]] bool keeps() const noexcept { return !bytes_.empty(); }
  [[nodiscard]] bool any() const noexcept { return used_ != 0; }
  [[nodiscard]] std::size_t room() const noexcept { return bytes_.size(); }
  [[nodiscard]] const kept_draft& kept() const noexcept { return kept_; }
  //! As the journal has it; empty where none is kept.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), used_}; }
  void clear() noexcept { used_ = 0; }

  //! Begins a record. False: it would not fit, and none is kept.
  [[nodiscard]] bool begin(const kept_draft& kept) noexcept {
    used_ = 0;
    if (total(kept) > bytes_.size()) return false;
    kept_ = kept;
    used_ = total(kept);
    store_snapshot(kept, bytes_.data());
    return true;
  }
  //! Takes a record of the open round back. False: it is damaged. One of another round, or that does not fit, is left.
  [[nodiscard]] bool restore(std::span<const std::byte> record, std::uint32_t round, std::uint32_t length) noexcept {
    used_ = 0;
    kept_draft read;
    if (record.empty()) return true;
    if (record.size() < head_bytes || !load_snapshot(read, record.data())) return false;
    if (read.drafts > format_.max_draft_length || read.beyond > 1 ||
        read.drafts + read.beyond > format_.max_draft_length || total(read) != record.size())
      return false;
    for (std::uint32_t i = 0; i < read.drafts; ++i) {
      if (numeric::load_le(record.data() + head_bytes + 4 * std::size_t{i}, 4) >= format_.vocab_size) return false;
    }
    if (read.round != round || read.length != length || record.size() > bytes_.size()) return true;
    std::copy(record.begin(), record.end(), bytes_.begin());
    kept_ = read;
    used_ = record.size();
    return true;
  }

  // Its parts.
  void set_token(std::uint32_t i, token_id token) noexcept {
    numeric::store_le(bytes_.data() + head_bytes + 4 * std::size_t{i}, static_cast<std::uint32_t>(token), 4);
  }
  [[nodiscard]] token_id token(std::uint32_t i) const noexcept {
    return static_cast<token_id>(numeric::load_le(bytes_.data() + head_bytes + 4 * std::size_t{i}, 4));
  }
  [[nodiscard]] std::span<std::byte> body() noexcept { return part(body_at(), kept_.body); }
  [[nodiscard]] std::byte* state(std::uint32_t i) noexcept {
    return bytes_.data() + body_at() + kept_.body + i * state_bytes_;
  }
  [[nodiscard]] std::span<std::byte> probabilities() noexcept {
    return part(body_at() + kept_.body + states() * state_bytes_, kept_.drafts * probability_bytes_);
  }
  [[nodiscard]] std::span<std::byte> hidden() noexcept {
    const std::size_t bytes = kept_.drafts * hidden_bytes_;
    return part(used_ - bytes, bytes);
  }
  //! States that are kept: before each draft, behind the last, and beyond.
  [[nodiscard]] std::uint32_t states() const noexcept { return kept_.drafts + 1 + kept_.beyond; }

  //! The message under a context. Errors: output_too_small.
  [[nodiscard]] result<std::span<std::byte>> message(const wire_context& context, std::span<std::byte> out) noexcept {
    const std::size_t total = message_header_bytes + kept_.body;
    if (const status why = begin_message(context, total, 1, out); !why.ok()) return why;
    std::copy_n(body().begin(), kept_.body, out.begin() + message_header_bytes);
    return end_message(message_kind::draft, context, total, 1, out);
  }

 private:
  static constexpr std::size_t head_bytes = snapshot_bytes<kept_draft>();
  [[nodiscard]] std::size_t body_at() const noexcept { return head_bytes + 4 * std::size_t{kept_.drafts}; }
  [[nodiscard]] std::span<std::byte> part(std::size_t at, std::size_t bytes) noexcept {
    return {bytes_.data() + at, bytes};
  }
  [[nodiscard]] std::size_t total(const kept_draft& kept) const noexcept {
    return head_bytes + kept.drafts * (4 + probability_bytes_ + hidden_bytes_) + kept.body +
           (std::size_t{kept.drafts} + 1 + kept.beyond) * state_bytes_;
  }

  wire_format format_;
  untouched_memory<std::byte> bytes_;
  kept_draft kept_{};
  std::size_t used_ = 0;
  std::size_t state_bytes_;
  std::size_t probability_bytes_;
  std::size_t hidden_bytes_ = 0;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
