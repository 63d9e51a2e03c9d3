// SPDX-License-Identifier: Apache-2.0
//! The types of all messages: the context of a round, the format of draft messages, and a struct for each message.
//!
//! Use it where a message or a format is named and nothing is encoded; codec/message.hpp includes it.
//! Symbols:    V = vocab_size, l = resolution, K = support_size, L = drafts in a message.
//! Guarantees: plain values, no allocation, noexcept; a received draft is made by the decoder alone.
//! See:        docs/algorithms/message.md, docs/wire-format.md, tests/unit/codec/message_types_test.cpp
#ifndef SPECVERIFY_CODEC_MESSAGE_TYPES_HPP
#define SPECVERIFY_CODEC_MESSAGE_TYPES_HPP

#include <specverify/codec/draft_attachments.hpp>
#include <specverify/core/views.hpp>
#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/law_format.hpp>
#include <specverify/quantize/concepts.hpp>
#include <specverify/row/transform.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

inline constexpr std::uint16_t wire_version = 2;
//! Largest epoch that hello and resume carry.
inline constexpr std::uint32_t max_wire_epoch = (std::uint32_t{1} << 24) - 1;
//! Types of hello's fields from here on must be known to whoever reads them; others are skipped.
inline constexpr std::uint8_t first_required_field = 128;
//! Types of fields that this version knows.
enum class hello_field : std::uint8_t {
  stop_tokens = 2  //!< u64: prefix hash of the sender's stop tokens, ascending, each once; absent if there are none
};
inline constexpr std::size_t stop_tokens_field_bytes = 11;
inline constexpr std::size_t message_header_bytes = 8;
inline constexpr std::uint32_t max_wire_draft_length = 4096;
inline constexpr std::uint32_t max_pad_to = std::uint32_t{1} << 16;
//! token_source of verify/verdict.hpp: none, residual, bonus, residual_fallback, forced
inline constexpr std::uint8_t feedback_source_count = 5;
//! stop_reason of verify/verdict.hpp: none, stop_token, budget
inline constexpr std::uint8_t feedback_stop_count = 3;
inline constexpr std::uint8_t stop_cause_count = 5;

enum class message_kind : std::uint8_t {
  hello = 1,
  draft = 2,
  request = 3,
  supply = 4,
  feedback = 5,
  resume = 6,
  text = 7,
  refuse = 8,
  stop = 9
};

//! What both sides know of the round and do not send in steady messages; it enters every checksum.
struct wire_context {
  std::uint64_t session_id = 0;
  std::uint32_t epoch = 0;  //!< 0..max_wire_epoch
  std::uint32_t round = 0;
  std::uint32_t base_length = 0;  //!< committed tokens before the round
  std::uint64_t prefix_hash = 0;  //!< of these tokens
  //! 0..15, the high half of byte 0: tells a retry from a duplicate. Sent, and not part of the context
  std::uint8_t transmission = 0;
  friend SPECVERIFY_INLINE constexpr bool operator==(const wire_context&, const wire_context&) noexcept = default;
};

//! What hello agrees on for every message: how drafts and their laws travel, and V, which gives a token id its width.
struct wire_format {
  // `where` of a failing check; fields of `attachments` from at_attachments on
  static constexpr std::uint32_t at_format = 0, at_vocab_size = 1, at_resolution = 2, at_support_size = 3,
                                 at_max_draft_length = 4, at_pad_to = 5, at_attachments = 6;
  law_format format = law_format::sparse_drop_zero;
  std::uint32_t vocab_size = 0;  //!< V, 1..2^24
  //! l; lattices: 1..2^16, top_k_tail with l (V-1) < 2^32; token_and_count: 1..2^31; fp16_row, token_only: 0
  std::uint32_t resolution = 0;
  //! sparse_drop_zero, top_k_tail: largest K+, K (0: no limit); sparse_paper: K (0: announced per law); else 0
  std::uint32_t support_size = 0;
  std::uint32_t max_draft_length = 0;  //!< L at most, 1..4096
  //! messages are padded with zeros to a multiple of this many bytes, 1..2^16 (1: off)
  std::uint32_t pad_to = 1;
  attachment_format attachments{};  //!< what travels with the drafts; none by default
  friend SPECVERIFY_INLINE constexpr bool operator==(const wire_format&, const wire_format&) noexcept = default;
};

//! The first 8 bytes, as they stand. Nothing in it is trustworthy before the checksum was compared.
struct message_header {
  message_kind kind = message_kind::stop;
  std::uint8_t flags = 0;             //!< wire_context::transmission of who sent it
  std::uint8_t round_low = 0;         //!< round mod 256
  std::uint16_t base_length_low = 0;  //!< base length mod 2^16
  std::uint32_t checksum = 0;
};

enum class wire_rule : std::uint8_t { greedy = 0, token = 1, semantic = 2 };

//! How the text comes about.
enum class session_mode : std::uint8_t {
  draft = 0,  //!< the edge drafts, the cloud verifies
  stream = 1  //!< the cloud writes alone and sends token by token
};

//! What hello agrees on for the whole session. Journals keep it.
struct session_terms {
  std::uint64_t fingerprint_low = 0;  //!< 128-bit fingerprint of the vocabulary
  std::uint64_t fingerprint_high = 0;
  guarantee strength = guarantee::honest_drafter;  //!< claimed by the sender
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  bool bonus = true;               //!< after a full accept the cloud adds a token of its own
  std::uint32_t token_budget = 0;  //!< tokens to generate (0: no limit)
  wire_format format{};
  double temperature = 1.0;  //!< >= 0, finite
  row_truncation truncation{};
  double threshold = 0.0;  //!< semantic: a mismatch with a score below it stands; finite, >= 0. Other rules: 0
  //! ids of the longest text message that the sender takes, and that it sends; 1 or more
  std::uint32_t text_chunk = 256;
};

struct hello_message : session_terms {
  //! decoding another one gives unknown_version: `where` is that version times 2^16 plus wire_version
  std::uint16_t version = wire_version;
  wire_context context{};           //!< sent in full
  std::uint32_t prompt_length = 0;  //!< tokens before the first generated one
  //! Fields behind the others: {type u8, length u16, value} each, types ascending. Decoding points into the message.
  std::span<const std::byte> fields{};
};

struct resume_message {
  wire_context context{};  //!< sent in full; base_length 0 asks the peer for its text
};

struct feedback_message {
  // `where` of a field outside its range
  static constexpr std::uint32_t at_accepted = 0, at_source = 1, at_stop = 2, at_next_token = 3;
  std::uint32_t accepted = 0;      //!< drafts that are committed, 0..draft length of the round
  token_id next_token = no_token;  //!< no_token exactly when source is 0
  std::uint8_t source = 0;         //!< token_source as a number
  std::uint8_t stop = 0;           //!< stop_reason as a number
  friend SPECVERIFY_INLINE constexpr bool operator==(const feedback_message&,
                                                     const feedback_message&) noexcept = default;
};

//! Drafts without laws, and what came with them.
struct claims_message {
  std::span<const claimed_draft> claims{};
  draft_attachments attachments{};
};

struct text_message {
  std::uint32_t position = 0;  //!< position of the first id
  std::span<const token_id> tokens{};
};

//! Asks for more about some drafted positions of the round (a second upload, a lazy law).
struct request_message {
  // `where` of a field outside its range, in a request and in a supply
  static constexpr std::uint32_t at_what = 0, at_positions = 1;
  //! 0: the law of the position; 1: its hidden state, of attachment_format::hidden; others are refused
  std::uint8_t what = 0;
  //! bit i of word i / 64: position i of the draft; exactly ceil(L / 64) words
  std::span<const std::uint64_t> positions{};
};

//! Answers a request. The payload of what = 0 is read by who asked; that of 1 is one vector of hidden_bytes a position,
//! ascending.
struct supply_message {
  std::uint8_t what = 0;
  std::span<const std::uint64_t> positions{};
  std::span<const std::byte> payload{};
};

//! Why a message was refused, in the numbers of core/errc.def. Never errc::ok.
struct refuse_message {
  status reason{};
};

enum class stop_cause : std::uint8_t { finished = 0, stop_token = 1, budget = 2, cancelled = 3, failed = 4 };
struct stop_message {
  stop_cause cause = stop_cause::finished;
  std::uint32_t length = 0;       //!< of the text that both sides have, prompt included
  std::uint64_t prefix_hash = 0;  //!< of this text
};

//! Makes received drafts; only the decoder names it (a lint checks).
struct codec_access {
  [[nodiscard]] static SPECVERIFY_INLINE constexpr received_draft make(token_id token, const law& from) noexcept {
    return received_draft(token, from);
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! The field `stop_tokens`, for hello_message::fields.
[[nodiscard]] constexpr std::array<std::byte, stop_tokens_field_bytes> stop_tokens_field(std::uint64_t hash) noexcept {
  std::array<std::byte, stop_tokens_field_bytes> made{static_cast<std::byte>(hello_field::stop_tokens), std::byte{8}};
  for (std::size_t i = 3; i < made.size(); ++i, hash >>= 8) made[i] = static_cast<std::byte>(hash & 255u);
  return made;
}

//! Anything that binds a token to a law: draft, received_draft.
template <class Draft>
concept lawful_draft = requires(const Draft& drafted) {
  { drafted.token() } -> std::same_as<token_id>;
  { drafted.source_law() } -> std::convertible_to<law>;
};

//! Errors: invalid_argument, empty_vocabulary, vocabulary_too_large, invalid_resolution; `where` =
//!         wire_format::at_format and on.
[[nodiscard]] constexpr status check(const wire_format& format) noexcept {
  const bool lattice = format.format <= law_format::dense_lattice || format.format == law_format::top_k_tail;
  if (format.format > law_format::top_k_tail) return detail::codec_error(errc::invalid_argument, format.at_format);
  if (format.vocab_size == 0) return detail::codec_error(errc::empty_vocabulary, format.at_vocab_size);
  if (format.vocab_size > max_vocab_size) return detail::codec_error(errc::vocabulary_too_large, format.at_vocab_size);
  const std::uint32_t largest = lattice                                        ? max_lattice_resolution
                                : format.format == law_format::token_and_count ? std::uint32_t{1} << 31
                                                                               : 0;
  if (format.resolution > largest || (largest > 0 && format.resolution == 0))
    return detail::codec_error(errc::invalid_resolution, format.at_resolution);
  // The law that a top_k_tail message decodes to has the resolution l (V - K), K >= 1.
  if (format.format == law_format::top_k_tail &&
      std::uint64_t{format.resolution} * (format.vocab_size - 1) > 0xffffffffu)
    return detail::codec_error(errc::invalid_resolution, format.at_resolution);
  const bool sparse = format.format <= law_format::sparse_paper || format.format == law_format::top_k_tail;
  if (format.support_size > (sparse ? format.vocab_size : 0))
    return detail::codec_error(errc::invalid_argument, format.at_support_size);
  if (format.max_draft_length == 0 || format.max_draft_length > max_wire_draft_length)
    return detail::codec_error(errc::invalid_argument, format.at_max_draft_length);
  if (format.pad_to == 0 || format.pad_to > max_pad_to)
    return detail::codec_error(errc::invalid_argument, format.at_pad_to);
  if (const status why = check(format.attachments); !why.ok())
    return detail::codec_error(why.code, std::uint64_t{format.at_attachments} + why.where);
  if (format.attachments.resolution_with_draft && !lattice)
    return detail::codec_error(errc::invalid_argument,
                               format.at_attachments + attachment_format::at_resolution_with_draft);
  if (format.attachments.drafted_probability && format.format != law_format::top_k_tail)
    return detail::codec_error(errc::invalid_argument,
                               format.at_attachments + attachment_format::at_drafted_probability);
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
