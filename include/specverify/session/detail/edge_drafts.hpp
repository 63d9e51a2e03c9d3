// SPDX-License-Identifier: Apache-2.0
//! Holds the drafts of an edge's open round, their hidden states, and the record of a complete draft. If drafts are
//! journaled, the journal holds this record from before the draft is sent until the round is decided.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_DRAFTS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_DRAFTS_HPP

#include <specverify/codec/message.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/quantize/claim.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/journal.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/statistics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! First part of the record of a draft: identifies the round, and contains the sizes of the other parts.
struct kept_draft {
  std::uint32_t round = 0;
  std::uint32_t length = 0;      //!< tokens of the committed text
  std::uint32_t drafts = 0;      //!< number of drafts, L
  std::uint32_t resolution = 0;  //!< l of the round
  std::uint32_t beyond = 0;      //!< 1: the record has a state after a distribution without a drawn token
  std::uint32_t clamped = 0;     //!< drafts that the budget cut, for `round_record`
  std::uint32_t body = 0;        //!< bytes of the message, without padding and check
  std::uint64_t support_sum = 0;
};
template <class Field, class Kept>
constexpr void journal_fields(Field& field, Kept& kept) noexcept requires std::is_same_v<const Kept, const kept_draft> {
  each(field, kept.round, kept.length, kept.drafts, kept.resolution, kept.beyond, kept.clamped, kept.body,
       kept.support_sum);
}

//! The record of a complete draft: {kept_draft, tokens, body of the message, sparsifier states before each draft and
//! after the last, probabilities, hidden states}. The body does not depend on the connection; padding and a check turn
//! it into a message.
class draft_record {
 public:
  kept_draft head{};

  //! `state_bytes` is the size of a sparsifier state, and `message_bytes` the maximum size of a message. `observes`
  //! must be true if the window needs probabilities.
  draft_record(const edge_options& options, const wire_format& format, std::size_t state_bytes, bool observes,
               std::size_t message_bytes)
      : format_(format),
        message_bytes_(message_bytes),
        state_bytes_(state_bytes),
        probability_bytes_(observes ? sizeof(float) : 0) {
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

  //! Returns the maximum size of a record; 0: drafts are never kept.
  [[nodiscard]] std::size_t room() const noexcept { return bytes_.size(); }
  //! Returns whether a draft is kept.
  [[nodiscard]] bool any() const noexcept { return used_ != 0; }
  //! Returns the record as stored in the journal; empty if no draft is kept.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), used_}; }
  void clear() noexcept { used_ = 0; }

  //! Begins a record. Returns false if the record would be too long; then no draft is kept.
  [[nodiscard]] bool begin(const kept_draft& kept) noexcept {
    used_ = 0;
    if (total(kept) > bytes_.size()) return false;
    head = kept;
    used_ = total(kept);
    store_snapshot(kept, bytes_.data());
    return true;
  }
  //! Restores a record of the open round. Returns false if the record is damaged. Ignores a record of another round, or
  //! a record that is too long for the options.
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
    wire_format widest = format_;
    widest.check_bits = 16;
    const auto kind = kind_of(record.subspan(head_bytes + 4 * std::size_t{read.drafts}, read.body));
    if (!kind || *kind != message_kind::draft || steady_bytes(read.body, widest) > message_bytes_) return false;
    if (read.round != round || read.length != length || record.size() > bytes_.size()) return true;
    std::copy(record.begin(), record.end(), bytes_.begin());
    head = read;
    used_ = record.size();
    return true;
  }

  //! The parts after the head, in this order.
  struct parts {
    std::span<std::byte> tokens;
    std::span<std::byte> body;
    std::span<std::byte> states;  //!< states before each draft, after the last draft, and after an unused distribution
    std::span<std::byte> probabilities;
    std::span<std::byte> hidden;
  };
  [[nodiscard]] parts split() noexcept {
    std::byte* at = bytes_.data() + head_bytes;
    const auto next = [&at](std::size_t bytes) noexcept {
      return std::span<std::byte>(std::exchange(at, at + bytes), bytes);
    };
    const std::size_t drafts = head.drafts;
    return {next(4 * drafts), next(head.body), next((drafts + 1 + head.beyond) * state_bytes_),
            next(drafts * probability_bytes_), next(drafts * hidden_bytes_)};
  }

 private:
  static constexpr std::size_t head_bytes = snapshot_bytes<kept_draft>();
  [[nodiscard]] std::size_t total(const kept_draft& kept) const noexcept {
    return head_bytes + kept.drafts * (4 + probability_bytes_ + hidden_bytes_) + kept.body +
           (std::size_t{kept.drafts} + 1 + kept.beyond) * state_bytes_;
  }

  wire_format format_;
  untouched_memory<std::byte> bytes_;
  std::size_t used_ = 0;
  std::size_t message_bytes_;
  std::size_t state_bytes_;
  std::size_t probability_bytes_;
  std::size_t hidden_bytes_ = 0;
};

//! The drafts of the round as the edge sends them: with distributions, or only as ids. With draw_from_row, a token was
//! not drawn from the distribution, so the edge also sends the token's probability. One block holds either kind of
//! distribution, because both have the same code.
class edge_drafts {
 public:
  //! Errors: invalid_argument (max_draft_length is 0).
  [[nodiscard]] static result<edge_drafts> make(const wire_format& format);

  std::uint64_t charged = 0;  //!< cost of the distributions so far, in bits or in the window's own unit
  std::uint32_t size = 0;
  std::uint32_t planned = 0;
  std::uint32_t resolution = 0;  //!< l of the round's distributions
  bool open = false;             //!< more drafts may follow
  bool complete = false;         //!< all drafts are made; the cloud must decide

  void begin(const draft_plan& plan) noexcept {
    clear();
    charged = 0;
    planned = plan.max_draft_length;
    resolution = plan.resolution;
    open = true;
  }
  void close() noexcept {
    open = false;
    complete = true;
  }
  void clear() noexcept {
    with_laws_.clear();
    size = 0;
    open = complete = false;
  }
  //! Restores a complete draft from a journal. The journal holds the distributions only inside the encoded message, so
  //! they are not restored as distributions.
  void restore(std::span<const token_id> tokens, std::uint32_t of_laws) noexcept {
    clear();
    for (const token_id token : tokens) add(token);
    resolution = of_laws;
    close();
  }
  [[nodiscard]] token_id token(std::uint32_t i) const noexcept { return tokens_[i].token; }
  [[nodiscard]] std::uint32_t digest() const noexcept {
    std::uint64_t hash = prefix_hash_seed;
    for (std::uint32_t i = 0; i < size; ++i) hash = extend_prefix_hash(hash, token(i));
    return static_cast<std::uint32_t>(hash & 0xffffffffu);  // draft_digest of the tokens
  }
  //! Copies the drafts to the end of a text.
  void copy_to(token_id* text) const noexcept {
    for (std::uint32_t i = 0; i < size; ++i) text[i] = token(i);
  }
  //! Pushes the distribution of the next draft; `add` must follow.
  [[nodiscard]] status push(const draft& drawn) noexcept {
    return with_laws_.push(claim{drawn.token(), drawn.source_law()});
  }
  //! Pushes a token that was drawn from the row, where its probability is count / of_row.
  [[nodiscard]] status push(const claim& drawn, std::uint32_t count, std::uint32_t of_row) noexcept {
    const auto at = std::span<std::byte>(probabilities_).subspan(drafted_probability_bytes * size);
    const auto written = encode_drafted_probability(count, of_row, at);
    return written ? with_laws_.push(drawn) : written.error();
  }
  //! Returns the encoded probabilities of the drafts; empty if the drafts were drawn from the sent distributions.
  [[nodiscard]] std::span<const std::byte> probabilities() const noexcept {
    const std::size_t used = probabilities_.empty() ? 0 : drafted_probability_bytes * size;
    return std::span<const std::byte>(probabilities_).first(used);
  }
  void add(token_id token) noexcept { tokens_[size++] = {token, 0, 0}; }

  //! Returns the size in bytes of the message with these drafts.
  [[nodiscard]] result<std::size_t> bytes(const wire_format& format) const noexcept;
  //! Replaces the plain ids at the end of an encoded message by ids that a table of id weights codes. `known` is the
  //! text, followed by the skipped ids. Returns the bytes of the message.
  [[nodiscard]] result<std::size_t> code_ids(const wire_format& format, const prior_text& known, std::uint32_t skipped,
                                             std::span<std::byte> body) const noexcept;
  //! Encodes the message with plain ids, without padding and check.
  [[nodiscard]] result<std::size_t> encode(const wire_format& format, const draft_attachments& attachments,
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
};

//! Encoded hidden vectors of the round's drafts. They are sent with the draft, or when the cloud requests them.
class hidden_store {
 public:
  owned_memory<std::uint64_t> asked;  //!< bit i % 64 of word i / 64: the last request includes draft i
  bool fresh = false;                 //!< the last request includes a draft that was not requested before

  hidden_store(const attachment_format& format, std::uint32_t drafts)
      : asked((std::size_t{drafts} + 63) / 64),
        each_(hidden_bytes(format)),
        vectors_(each_ * drafts),
        payload_(vectors_.size()),
        supplied_(asked.size()) {}

  [[nodiscard]] bool empty() const noexcept { return vectors_.empty(); }
  //! Restores the vectors of the first drafts from a journal.
  void restore(std::span<const std::byte> vectors) noexcept {
    begin_round();
    std::copy(vectors.begin(), vectors.end(), vectors_.begin());
  }
  [[nodiscard]] std::span<const std::byte> first(std::uint32_t drafts) const noexcept {
    return std::span<const std::byte>(vectors_).first(each_ * drafts);
  }
  void begin_round() noexcept { std::fill(supplied_.begin(), supplied_.end(), std::uint64_t{0}); }
  //! Encodes and keeps the vector of draft `i`. Errors: as for encode_hidden (codec/hidden_code.hpp).
  [[nodiscard]] status keep(std::uint32_t i, std::span<const float> hidden, hidden_format format) noexcept {
    return encode_hidden(hidden, format, std::span<std::byte>(vectors_).subspan(each_ * i, each_)).error();
  }
  //! Records a request of the cloud. Call it after the first `count` words of `asked` are filled.
  void note_request(std::size_t count) noexcept {
    fresh = false;
    for (std::size_t i = 0; i < count; ++i) {
      fresh = fresh || (asked[i] & ~supplied_[i]) != 0;
      supplied_[i] |= asked[i];
    }
  }
  //! Returns the requested vectors among the first `drafts` drafts.
  [[nodiscard]] supply_message supply(std::uint32_t drafts) noexcept {
    std::size_t used = 0;
    for (std::uint32_t i = 0; i < drafts; ++i) {
      if ((asked[i / 64] >> (i % 64) & 1u) == 0) continue;
      std::copy_n(vectors_.begin() + static_cast<std::ptrdiff_t>(each_ * i), each_,
                  payload_.begin() + static_cast<std::ptrdiff_t>(used));
      used += each_;
    }
    return {1, std::span<const std::uint64_t>(asked).first((std::size_t{drafts} + 63) / 64),
            std::span<const std::byte>(payload_).first(used)};
  }

 private:
  std::size_t each_;
  untouched_memory<std::byte> vectors_;
  untouched_memory<std::byte> payload_;
  owned_memory<std::uint64_t> supplied_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
