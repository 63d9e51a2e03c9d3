// SPDX-License-Identifier: Apache-2.0
//! Defines the types of the messages between edge and cloud: a struct for each message, and the format of draft
//! messages.
//!
//! It also defines the values that the check at the end of a message covers. Include this header if you need the types
//! but no encoder; codec/message.hpp includes it.
//! Symbols:    V = vocab_size, l = resolution, K = support_size, L = drafts in a message.
//! Guarantees: plain values, no allocation, noexcept; only the decoder can make a received draft.
//! Cost:       O(1).
//! See:        docs/algorithms/message.md, docs/wire-format.md, tests/unit/codec/message_types_test.cpp
#ifndef SPECVERIFY_CODEC_MESSAGE_TYPES_HPP
#define SPECVERIFY_CODEC_MESSAGE_TYPES_HPP

#include <specverify/codec/draft_attachments.hpp>
#include <specverify/core/noise.hpp>
#include <specverify/core/views.hpp>
#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/law_format.hpp>
#include <specverify/quantize/concepts.hpp>
#include <specverify/row/transform.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

inline constexpr std::uint16_t wire_version = 3;
//! A reader must reject a hello field of this type or above if it does not know it. Other unknown fields are skipped.
inline constexpr std::uint8_t first_required_field = 128;
//! Types of hello fields that this version knows.
enum class hello_field : std::uint8_t {
  last_verdict = 1,  //!< 12 bytes, as in `verdict_notice`: the cloud's last verdict; an edge sends none
  stop_tokens = 2,   //!< u64: prefix hash of the sender's stop tokens, ascending, without repeats; absent if none
  check = 3,         //!< u8: check_bits that the sender asks for; the larger number of both sides is used; absent: 8
  noise = 128,       //!< u8 1, u8 noise_kind, u64 key: shared noise; the key is the cloud's, so an edge sends 0
  //! 16 bytes, u8 id_code: fingerprint of the table with which the edge can code ids, and the code. A cloud with the
  //! same table repeats the field with the code that the drafts must use: the edge's, or `prior` if the edge's is
  //! `noise`. A cloud without this table sends no such field, and then ids are plain
  prior = 129
};
//! Header of hello and refuse. The other messages begin with the kind in 4 bits.
inline constexpr std::size_t message_header_bytes = 8;
inline constexpr std::uint32_t max_wire_draft_length = 4096;
inline constexpr std::uint32_t max_pad_to = std::uint32_t{1} << 16;
//! number of token_source values in verify/verdict.hpp: none, residual, bonus, residual_fallback, forced
inline constexpr std::uint8_t feedback_source_count = 5;
//! number of stop_reason values in verify/verdict.hpp: none, stop_token, budget
inline constexpr std::uint8_t feedback_stop_count = 3;
inline constexpr std::uint8_t stop_cause_count = 5;

enum class message_kind : std::uint8_t {
  hello = 1,
  draft = 2,
  request = 3,
  supply = 4,
  feedback = 5,
  text = 7,  // version 2 used 6 for resume
  refuse = 8,
  stop = 9
};

//! Code of the drafted ids in drafts without distributions. The two sides agree on it again for each connection.
enum class id_code : std::uint8_t {
  plain = 0,  //!< ceil(log2 V) bits per id
  prior = 1,  //!< a range code with weights that both sides compute from a table and the text before the id
  noise = 2   //!< like prior, but the weights also depend on the shared noise at the id's position
};

//! Fingerprint of all weights of a table for `id_code::prior` and `id_code::noise`.
struct prior_fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend SPECVERIFY_INLINE constexpr bool operator==(const prior_fingerprint&,
                                                     const prior_fingerprint&) noexcept = default;
};

[[nodiscard]] SPECVERIFY_INLINE constexpr bool is_message_kind(unsigned value) noexcept {
  return value >= static_cast<unsigned>(message_kind::hello) && value <= static_cast<unsigned>(message_kind::stop) &&
         value != 6;
}

//! State that both sides have and never send. The check of a steady message is computed from it.
struct wire_place {
  //! hash of the text that both sides have, or of the text before the ids of a text message
  std::uint64_t prefix_hash = 0;
  std::uint32_t round = 0;
  friend SPECVERIFY_INLINE constexpr bool operator==(const wire_place&, const wire_place&) noexcept = default;
};

//! Format of all messages, on which the two sides agree in hello: the encoding of drafts and distributions, and V,
//! which determines the width of a token id.
struct wire_format {
  // values of `where` if a check fails; fields of `attachments` follow at_attachments
  static constexpr std::uint32_t at_format = 0, at_vocab_size = 1, at_resolution = 2, at_support_size = 3,
                                 at_max_draft_length = 4, at_pad_to = 5, at_attachments = 6, at_check_bits = 13,
                                 at_ids = 14;
  law_format format = law_format::sparse_drop_zero;
  std::uint32_t vocab_size = 0;  //!< V, 1..2^24
  //! l; lattices: 1..2^16, and l (V-1) < 2^32 for top_k_tail; token_and_count: 1..2^31; fp16_row, token_only: 0
  std::uint32_t resolution = 0;
  //! sparse_drop_zero, top_k_tail: maximum K+, K (0: no limit); sparse_paper: K (0: announced per distribution); else 0
  std::uint32_t support_size = 0;
  std::uint32_t max_draft_length = 0;  //!< maximum L, 1..4096
  //! messages are padded with zeros to a multiple of this many bytes, 1..2^16 (1: off)
  std::uint32_t pad_to = 1;
  attachment_format attachments{};  //!< attachments of the drafts; none by default
  //! bits of the check at the end of each steady message: 0, 8 or 16. This number is a field of hello and not a session
  //! term, because each connection may need a different value
  std::uint8_t check_bits = 8;
  //! prior and noise require token_only, and noise also requires shared noise. This code is a field of hello and not a
  //! session term, because each connection may have a peer without the table
  id_code ids = id_code::plain;
  friend SPECVERIFY_INLINE constexpr bool operator==(const wire_format&, const wire_format&) noexcept = default;
};

enum class wire_rule : std::uint8_t { greedy = 0, token = 1, semantic = 2 };

//! Origin of the text.
enum class session_mode : std::uint8_t {
  draft = 0,  //!< the edge drafts and the cloud verifies
  stream = 1  //!< the cloud generates without drafts and sends token by token
};

//! Terms of a whole session, on which the two sides agree in hello. Journals contain them.
struct session_terms {
  std::uint64_t fingerprint_low = 0;  //!< 128-bit fingerprint of the vocabulary
  std::uint64_t fingerprint_high = 0;
  guarantee strength = guarantee::honest_drafter;  //!< claimed by the sender
  wire_rule rule = wire_rule::token;
  //! greedy rule: each token is the winner of a race over this noise, not the most probable token. Sent as a field of
  //! hello
  noise_kind noise = noise_kind::none;
  session_mode mode = session_mode::draft;
  bool bonus = true;               //!< if all drafts are accepted, the cloud adds a token
  std::uint32_t token_budget = 0;  //!< maximum tokens to generate (0: no limit)
  wire_format format{};
  double temperature = 1.0;  //!< must be finite and >= 0
  row_truncation truncation{};
  double threshold = 0.0;  //!< semantic: mismatches with a score below it are accepted; finite, >= 0. Other rules: 0
  //! maximum ids per text message that the sender accepts and sends; must be 1 or more
  std::uint32_t text_chunk = 256;
};

struct hello_message : session_terms {
  //! decoding a hello of any other version returns unknown_version, with `where` = that version * 2^16 + wire_version
  std::uint16_t version = wire_version;
  std::uint64_t session_id = 0;
  std::uint32_t nonce = 0;  //!< number that the edge chooses anew for each hello; the cloud's hello repeats it
  std::uint32_t round = 0;
  std::uint32_t length = 0;         //!< tokens of the sender's text, including the prompt
  std::uint64_t prefix_hash = 0;    //!< hash of this text
  std::uint32_t prompt_length = 0;  //!< tokens before the first generated one
  //! Optional fields after the fixed ones: {type u8, length u16, value} each, types ascending, as `hello_fields` makes
  //! them. Decoding points into the message.
  std::span<const std::byte> fields{};
};

//! Identifies the hello that a refusal answers, or the last hello that the refusing side sent. All zeros: none.
struct hello_name {
  std::uint64_t session_id = 0;
  std::uint32_t nonce = 0;
  friend SPECVERIFY_INLINE constexpr bool operator==(const hello_name&, const hello_name&) noexcept = default;
};

//! A cloud's last verdict, as sent in hello.
struct verdict_notice {
  std::uint32_t round = 0;  //!< 0: none
  std::uint16_t accepted = 0;
  std::uint8_t source = 0;   //!< token_source as a number
  std::uint8_t stop = 0;     //!< stop_reason as a number
  std::uint32_t digest = 0;  //!< `draft_digest` of the round's drafts
  friend SPECVERIFY_INLINE constexpr bool operator==(const verdict_notice&, const verdict_notice&) noexcept = default;
};

struct feedback_message {
  // values of `where` for a field outside its range
  static constexpr std::uint32_t at_accepted = 0, at_source = 1, at_stop = 2, at_next_token = 3;
  std::uint32_t accepted = 0;      //!< committed drafts, 0..draft length of the round
  token_id next_token = no_token;  //!< must be no_token exactly if source is 0
  std::uint8_t source = 0;         //!< token_source as a number
  std::uint8_t stop = 0;           //!< stop_reason as a number
  friend SPECVERIFY_INLINE constexpr bool operator==(const feedback_message&,
                                                     const feedback_message&) noexcept = default;
};

//! Drafts without distributions, and the attachments.
struct claims_message {
  std::span<const claimed_draft> claims{};
  draft_attachments attachments{};
};

//! Requests more data about some drafted positions of the round, for example the hidden states.
struct request_message {
  // values of `where` for a field out of range, in a request and in a supply
  static constexpr std::uint32_t at_what = 0, at_positions = 1;
  //! 0: the distribution of the position; 1: the hidden state, as attachment_format::hidden; other values are rejected
  std::uint8_t what = 0;
  //! position i of the draft is bit i % 64 of word i / 64; must have exactly ceil(L / 64) words
  std::span<const std::uint64_t> positions{};
};

//! Responds to a request. If what = 0, the requester interprets the payload; if what = 1, it has one vector of
//! hidden_bytes per position, ascending.
struct supply_message {
  std::uint8_t what = 0;
  std::span<const std::uint64_t> positions{};
  std::span<const std::byte> payload{};
};

//! Reason to reject a message, with the numbers of core/errc.def. Must not be errc::ok.
struct refuse_message {
  status reason{};
};

enum class stop_cause : std::uint8_t { finished = 0, stop_token = 1, budget = 2, cancelled = 3, failed = 4 };
struct stop_message {
  stop_cause cause = stop_cause::finished;
  std::uint32_t length = 0;       //!< tokens of the text that both sides have, including the prompt
  std::uint64_t prefix_hash = 0;  //!< hash of this text
};

//! Makes received drafts. Only the decoder may name it (a lint checks this).
struct codec_access {
  [[nodiscard]] static SPECVERIFY_INLINE constexpr received_draft make(token_id token, const law& from) noexcept {
    return received_draft(token, from);
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

class prior_table;

//! The table of `id_code::prior` and `id_code::noise`, the text that both sides have, and their shared noise. None of
//! them is part of the message.
struct prior_text {
  const prior_table* table = nullptr;
  //! the whole text, then space for the skipped ids and the drafts of a message, which encoding and decoding write
  //! there. An index is a position of the noise
  std::span<token_id> memory{};
  std::size_t length = 0;                     //!< tokens of the text
  coupling_noise noise{noise_kind::none, 0};  //!< for id_code::noise
};

//! Any type that binds a token to a distribution: draft, received_draft.
template <class Draft>
concept lawful_draft = requires(const Draft& drafted) {
  { drafted.token() } -> std::same_as<token_id>;
  { drafted.source_law() } -> std::convertible_to<law>;
};

//! Checks a wire format. Errors: invalid_argument, empty_vocabulary, vocabulary_too_large, invalid_resolution; `where`
//! = wire_format::at_format or another constant of this type.
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
  // A top_k_tail message decodes to a distribution with the resolution l (V - K), K >= 1.
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
  if (format.check_bits != 0 && format.check_bits != 8 && format.check_bits != 16)
    return detail::codec_error(errc::invalid_argument, format.at_check_bits);
  if (format.ids != id_code::plain && (format.ids > id_code::noise || format.format != law_format::token_only))
    return detail::codec_error(errc::invalid_argument, format.at_ids);
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
