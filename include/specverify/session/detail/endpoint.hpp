// SPDX-License-Identifier: Apache-2.0
//! Base class of an edge and a cloud. It holds their common state: the outputs, the last hello, the text, the journal,
//! and the length of the engine's cache.
#ifndef SPECVERIFY_SESSION_DETAIL_ENDPOINT_HPP
#define SPECVERIFY_SESSION_DETAIL_ENDPOINT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/core/random.hpp>
#include <specverify/core/secret.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/detail/text_place.hpp>
#include <specverify/session/journal.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/statistics.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! A queue of the outputs of one input.
class output_queue {
 public:
  SPECVERIFY_INLINE void push(const session_output& output) noexcept {
    SPECVERIFY_ASSERT(count_ < capacity, "too many outputs for one input");
    if (SPECVERIFY_LIKELY(count_ < capacity)) outputs_[(first_ + count_++) % capacity] = output;
  }
  [[nodiscard]] session_output pop() noexcept {
    if (count_ == 0) return {};
    const session_output output = outputs_[first_];
    first_ = (first_ + 1) % capacity;
    --count_;
    return output;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  static constexpr std::size_t capacity = 16;
  std::array<session_output, capacity> outputs_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

//! The journal records of one input, one after another, and the size of the host's journal.
class journal_buffer {
 public:
  explicit journal_buffer(std::size_t bytes) : bytes_(bytes) {}
  //! Called when a new input begins; the host has then written the records of the last input.
  void clear() noexcept { used_ = 0; }
  //! Sets the size of the host's journal: `length` tokens in `file` bytes.
  void resume(std::uint32_t length, std::size_t file) noexcept {
    length_ = length;
    file_ = file;
  }
  //! Writes a record with the ids of `text` starting at `first`, or at the end of the journal if that is earlier. A
  //! record without a snapshot holds an open draft. If the journal is too long, the record replaces it. So a journal
  //! holds at most the text and the snapshot twice, `compaction_slack` bytes, and one record.
  [[nodiscard]] session_output write(std::uint32_t first, std::span<const token_id> text,
                                     std::span<const std::byte> snapshot, std::span<const std::byte> draft) noexcept {
    const bool replaces =
        !snapshot.empty() && file_ > compaction_slack + 2 * journal_bytes(text.size(), snapshot.size());
    first = replaces ? 0 : std::min(first, length_);
    const std::span<std::byte> space = std::span<std::byte>(bytes_).subspan(used_);
    const auto written = write_journal_bytes({first, text.subspan(first), snapshot, draft}, space);
    SPECVERIFY_ASSERT(written.ok(), "the journal's buffer is sized for every record");
    if (!written) return {};
    used_ += written->size();
    length_ = static_cast<std::uint32_t>(text.size());
    file_ = written->size() + (replaces ? 0 : file_);
    return {.action = session_action::journal, .replaces = replaces, .bytes = *written};
  }

 private:
  static constexpr std::size_t compaction_slack = 16384;
  untouched_memory<std::byte> bytes_;
  std::size_t used_ = 0;
  std::size_t file_ = 0;  // bytes of the host's journal
  std::uint32_t length_ = 0;
};

struct endpoint_sizes {
  std::size_t text = 0;      //!< maximum tokens of prompt and text
  std::size_t received = 0;  //!< maximum tokens of a received text message
  std::size_t message = 0;   //!< maximum bytes of a message
  std::size_t records = 0;   //!< maximum bytes of the journal records of one input
};

//! Base class of both sides: functions for the host, and storage for outputs, text and journal.
class endpoint {
 public:
  //! Returns whether `next` may return more outputs. Take all outputs before the next input; otherwise that input may
  //! return `busy`.
  [[nodiscard]] bool has_outputs() const noexcept { return !outputs_.empty() || pieces_.open; }
  //! Returns the prompt and the committed tokens.
  [[nodiscard]] std::span<const token_id> text() const noexcept { return {text_.data(), place_.length}; }
  [[nodiscard]] std::uint32_t length() const noexcept { return place_.length; }
  [[nodiscard]] std::uint32_t prompt_length() const noexcept { return place_.prompt_length; }
  //! Returns committed length - 1, the lowest position where the session may still truncate the model. An engine that
  //! cannot truncate its cache should keep a checkpoint at this position.
  [[nodiscard]] std::uint32_t keep_from() const noexcept { return std::max(place_.length, 1u) - 1; }
  //! Returns the number of the open round, from 1.
  [[nodiscard]] std::uint32_t round() const noexcept { return place_.round; }
  //! Sets whether the transport delivers messages in order and undamaged. `generate` and `serve` make this call. If
  //! true, checks have 8 bits instead of 16 after the next handshake, unless the options choose a different number.
  void set_ordered_and_whole(bool is) noexcept { ordered_and_whole_ = is; }
  [[nodiscard]] const session_statistics& statistics() const noexcept { return statistics_; }
  //! Returns the reason why one side refused the session, or ok if neither did: code, part and `where`, as they were
  //! sent. In an edge, this is the cloud's refusal, after which the edge has failed with refused_by_peer,
  //! unknown_session or unverified_text. In a cloud, it is the reason for a refused hello, the cloud's own error, or
  //! the error of a failed edge.
  [[nodiscard]] status refusal() const noexcept { return refusal_; }

 protected:
  endpoint(const endpoint_sizes& sizes, std::span<const token_id> stop_tokens)
      : text_(sizes.text),
        stop_tokens_(stop_tokens.begin(), stop_tokens.end()),
        received_(sizes.received),
        message_(sizes.message),
        steps_(sizes.text),
        journal_(sizes.records) {
    std::sort(stop_tokens_.begin(), stop_tokens_.end());
    stop_tokens_.erase(std::unique(stop_tokens_.begin(), stop_tokens_.end()), stop_tokens_.end());
  }
  // Protected, because no code may move only the base part of a session, or delete a session through this base class.
  endpoint(endpoint&&) = default;
  endpoint& operator=(endpoint&&) = default;
  ~endpoint() = default;

  //! Records that both sides now have the next `count` tokens, and all tokens before them that only the edge had.
  void agree(std::uint32_t count) noexcept {
    const std::uint32_t end = place_.length + count;
    place_.stand_at(end, end, steps_.extend(std::span<const token_id>(text_).first(end), place_.agreed, place_.hash));
  }
  //! Returns the hash of the first `length` tokens. Both sides must have these tokens.
  [[nodiscard]] std::uint64_t hash_at(std::uint32_t length) const noexcept { return steps_.at(text().first(length)); }
  //! Encodes a hello on these terms into `message_`. Only a cloud passes `last` and a key. `prior` is needed only if
  //! the terms have coded ids.
  [[nodiscard]] result<std::span<std::byte>> encode_own_hello(const session_terms& terms, const verdict_notice* last,
                                                              std::uint64_t noise_key,
                                                              const prior_table* prior) noexcept {
    hello_message hello;
    static_cast<session_terms&>(hello) = terms;
    hello.session_id = name_.session_id;
    hello.nonce = name_.nonce;
    hello.round = place_.round;
    hello.length = place_.agreed;
    hello.prefix_hash = place_.hash;
    hello.prompt_length = place_.prompt_length;
    hello_fields fields;
    if (last != nullptr) fields.add(*last);
    if (!stop_tokens_.empty()) fields.add_stop_tokens(prefix_hash(stop_tokens_));
    if (terms.format.check_bits != wire_format{}.check_bits) fields.add_check(terms.format.check_bits);
    if (terms.noise != noise_kind::none) fields.add(coupling_noise{terms.noise, noise_key});
    if (terms.format.ids != id_code::plain) fields.add(prior->fingerprint(), terms.format.ids);
    hello.fields = fields.bytes();
    return encode_hello(hello, message_);
  }
  //! Encodes a refusal of the last hello, or of a message after this hello. If the code of `reason` must not be sent,
  //! encodes engine_failed instead.
  [[nodiscard]] std::size_t encode_refusal(status reason) noexcept {
    auto bytes = encode_refuse(name_, reason, message_);
    if (!bytes) bytes = encode_refuse(name_, {errc::engine_failed, part::host, 0}, message_);
    return bytes ? bytes->size() : 0;
  }
  //! Checks that two lists of stop tokens are equal. A side without a list accepts the end that the other side finds.
  [[nodiscard]] status check_stop_tokens(std::optional<std::uint64_t> theirs) const noexcept {
    if (stop_tokens_.empty() || !theirs.has_value() || *theirs == prefix_hash(stop_tokens_)) return {};
    return {errc::stop_tokens_disagree, part::session, 0};
  }
  //! Counts a message that was not used, and returns `code` as an error.
  [[nodiscard, gnu::cold]] status drop(errc code) noexcept {
    statistics_.stale += 1;
    return {code, part::session, 0};
  }
  //! Encodes the next chunk of text, at most `most` tokens, into `message_`.
  [[nodiscard]] result<std::span<std::byte>> encode_piece(const wire_format& format, std::uint32_t most) noexcept {
    const std::uint32_t count = std::min(most, pieces_.end - pieces_.at);
    const std::span<const token_id> piece = text().subspan(pieces_.at, count);
    const wire_place place{std::exchange(pieces_.hash, prefix_hash(piece, pieces_.hash)), place_.round};
    pieces_.at += count;
    return encode_text(place, format, most, piece, message_);
  }
  //! Returns whether the first `end` tokens of the text end with one of this side's stop tokens.
  [[nodiscard]] bool stops_at(std::uint32_t end) const noexcept {
    return end > place_.prompt_length && is_stop(stop_tokens_, text_[end - 1]);
  }
  //! Records whether the text is complete: it ends with a stop token or has `limit` tokens.
  void note_end(std::uint32_t limit) noexcept {
    if (stops_at(place_.length)) {
      place_.stop = stop_reason::stop_token;
    } else if (place_.length >= limit) {
      place_.stop = stop_reason::budget;
    }
  }

  //! Emits an output with `action` for the tokens from `position` to `end`; if there are none, emits nothing.
  void emit_text(session_action action, std::uint32_t position, std::uint32_t end, session_output out = {}) noexcept {
    if (position == end) return;
    out.action = action;
    out.position = position;
    out.tokens = std::span<const token_id>(text_).subspan(position, end - position);
    outputs_.push(out);
  }
  void emit_end() noexcept {
    outputs_.push({.action = session_action::finished, .stop = place_.stop, .position = place_.length});
  }
  void record(std::uint32_t first_position, std::span<const std::byte> snapshot,
              std::span<const std::byte> open_draft = {}) noexcept {
    const session_output out = journal_.write(first_position, text(), snapshot, open_draft);
    if (!out.bytes.empty()) outputs_.push(out);
  }

  //! Truncates the engine's cache to the first `length` positions.
  void roll_back(std::uint32_t length) noexcept {
    if (cached_ <= length) return;
    cached_ = length;
    statistics_.rollbacks += 1;
    outputs_.push({.action = session_action::rollback, .position = length});
  }
  //! Feeds the tokens before `end` that the engine has not seen, and always the tokens starting at position `keep`.
  //! Requests the rows of the last `rows` tokens.
  void feed(std::uint32_t keep, std::uint32_t end, std::uint32_t rows) noexcept {
    roll_back(keep);
    emit_text(session_action::evaluate, cached_, end, {.rows = rows});
    statistics_.fed_tokens += end - cached_;
    cached_ = end;
  }

  output_queue outputs_{};
  session_statistics statistics_{};
  status refusal_{};   // the session's refusal: as the cloud sent it or the edge received it
  hello_name name_{};  // name of the last hello
  text_place place_{};
  text_pieces pieces_{};
  wiped<philox> source_{};
  untouched_memory<token_id> text_;     // committed tokens, then drafts
  owned_memory<token_id> stop_tokens_;  // ascending, without duplicates
  untouched_memory<token_id> received_;
  untouched_memory<std::byte> message_;
  prefix_steps steps_;  // hashes of the text that both sides have
  journal_buffer journal_;
  std::uint32_t cached_ = 0;        // positions in the engine's cache
  bool ordered_and_whole_ = false;  // as set by the transport
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
