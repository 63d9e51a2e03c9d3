// SPDX-License-Identifier: Apache-2.0
//! Every byte of every message, made and read here: hello, draft, request, supply, feedback, resume, text, refuse,
//! stop.
//!
//! A message starts with 8 bytes: kind | transmission << 4, round mod 256, base length mod 2^16, and a CRC-32C over the
//! unsent context, the length, these first four bytes and the body. Everything is little-endian; docs/wire-format.md
//! has every field and golden bytes.
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605) and Conformal Sparsification (arXiv 2510.09942) count the
//!             bits of a draft; the bytes are ours.
//! Symbols:    V = vocab_size, l = resolution, K = support_size, L = drafts in a message.
//! Guarantees: noexcept, no allocation, O(bytes). A decoder reads only inside the bytes it is given, sizes nothing by
//!             what they say, and accepts exactly the byte strings that the encoder writes: every accepted message
//!             encodes to the same bytes again. Bit-exact. On an error outputs stay as they were, except that a
//!             received_draft_block is left empty.
//! See:        docs/wire-format.md, docs/algorithms/message.md, tests/unit/codec/message_test.cpp, tests/wire/,
//!             tests/fuzz/
#ifndef SPECVERIFY_CODEC_MESSAGE_HPP
#define SPECVERIFY_CODEC_MESSAGE_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/draft_side.hpp>
#include <specverify/core/views.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/quantize/concepts.hpp>
#include <specverify/row/transform.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_TYPES_BEGIN

inline constexpr std::uint16_t wire_version = 1;
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
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t base_length = 0;  //!< committed tokens before the round
  std::uint64_t prefix_hash = 0;  //!< of these tokens
  //! 0..15, the high half of byte 0: tells a retry from a duplicate. Sent, and not part of the context
  std::uint8_t transmission = 0;
  friend SPECVERIFY_INLINE constexpr bool operator==(const wire_context&, const wire_context&) noexcept = default;
};

//! How the law of a drafted token travels.
enum class law_format : std::uint8_t {
  //! K+ positive counts: log2 C(V,K+) + log2 C(l-1,K+-1), K+ and the token's place among them (our code)
  sparse_drop_zero = 0,
  //! K ids, zeros allowed: log2 C(V,K) + log2 C(l+K-1,K-1) (SQS), and the token's place among the K
  sparse_paper = 1,
  dense_lattice = 2,    //!< counts over the whole vocabulary: log2 C(l+V-1,V-1) (QS), and the token id
  half_row = 3,         //!< V values in IEEE binary16 (HLM), and the token id
  token_only = 4,       //!< the token id; read into claimed_draft
  token_and_count = 5,  //!< the token id and its count; read into claimed_draft
  //! K ids with lattice counts, one count for the other V-K together (CU-HLM), and the token. As a law: counts b_i
  //! (V-K), tail b
  top_k_tail = 6,
};

//! Whether a format carries laws (encode_draft) or claims (encode_claims).
[[nodiscard]] SPECVERIFY_INLINE constexpr bool carries_laws(law_format format) noexcept {
  return format != law_format::token_only && format != law_format::token_and_count;
}

//! What hello agrees on for every draft message, and with it the width of a token id and the padding.
struct draft_format {
  law_format format = law_format::sparse_drop_zero;
  std::uint32_t vocab_size = 0;  //!< V, 1..2^24
  //! l; lattices: 1..2^16, top_k_tail with l (V-1) < 2^32; token_and_count: 1..2^31; half_row, token_only: 0
  std::uint32_t resolution = 100;
  //! sparse_drop_zero, top_k_tail: largest K+, K (0: no limit); sparse_paper: K (0: announced per law); else 0
  std::uint32_t support_size = 0;
  std::uint32_t max_draft_length = 8;  //!< L, 1..4096
  //! messages are padded with zeros to a multiple of this many bytes, 1..2^16 (1: off)
  std::uint32_t pad_to = 1;
  side_format side{};  //!< what travels beside the drafts; none by default
  friend SPECVERIFY_INLINE constexpr bool operator==(const draft_format&, const draft_format&) noexcept = default;
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

struct hello_message {
  std::uint16_t version = wire_version;  //!< decoding another one gives unknown_version
  wire_context context{};                //!< sent in full
  std::uint64_t fingerprint_low = 0;     //!< 128-bit fingerprint of the vocabulary
  std::uint64_t fingerprint_high = 0;
  guarantee strength = guarantee::honest_drafter;
  wire_rule rule = wire_rule::token;
  std::uint8_t mode = 0;            //!< 0: draft and verify; 1: stream, the cloud sends its text token by token
  std::uint32_t prompt_length = 0;  //!< tokens before the first generated one
  std::uint32_t token_budget = 0;   //!< tokens to generate (0: no limit)
  draft_format format{};
  double temperature = 1.0;  //!< >= 0, finite
  row_truncation truncation{};
  bool bonus = true;       //!< after a full accept the cloud adds a token of its own
  double threshold = 0.0;  //!< semantic: a mismatch with a score below it stands; finite, >= 0. Other rules: 0
};

struct resume_message {
  wire_context context{};  //!< sent in full; base_length 0 asks the peer for its text
};

struct feedback_message {
  std::uint32_t accepted = 0;      //!< drafts that are committed, 0..draft length of the round
  token_id next_token = no_token;  //!< no_token exactly when source is 0
  std::uint8_t source = 0;         //!< token_source as a number
  std::uint8_t stop = 0;           //!< stop_reason as a number
  friend SPECVERIFY_INLINE constexpr bool operator==(const feedback_message&,
                                                     const feedback_message&) noexcept = default;
};

struct text_message {
  std::uint32_t position = 0;  //!< position of the first id
  std::span<const token_id> tokens{};
};

//! Asks for more about some drafted positions of the round (a second upload, a lazy law).
struct request_message {
  //! 0: the law of the position; 1: its hidden state, of side_format::hidden; others are refused
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
};

//! Makes received drafts; only the decoder names it (a lint checks).
struct codec_access {
  [[nodiscard]] static SPECVERIFY_INLINE constexpr received_draft make(token_id token, const law& from) noexcept {
    return received_draft(token, from);
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Anything that binds a token to a law: draft, received_draft.
template <class Draft>
concept lawful_draft = requires(const Draft& drafted) {
  { drafted.token() } -> std::same_as<token_id>;
  { drafted.source_law() } -> std::same_as<const law&>;
};

//! Errors: invalid_argument, empty_vocabulary, vocabulary_too_large, invalid_resolution; `where` = index of the field
//!         in draft_format, 6 and on those of side_format.
[[nodiscard]] constexpr status check(const draft_format& format) noexcept;

//! Bytes that hold any draft message of `draft_length` drafts in this format, header, side and padding included; 0 for
//! a format that does not check. O(1).
[[nodiscard]] inline std::size_t max_draft_bytes(const draft_format& format, std::uint32_t draft_length) noexcept;
//! Bytes that hold any feedback, request, refuse, stop, hello or resume message under this format.
[[nodiscard]] inline std::size_t max_control_bytes(const draft_format& format) noexcept;
//! Bytes of a text message with this many ids, and of a supply message with this many payload bytes.
[[nodiscard]] inline std::size_t text_bytes(const draft_format& format, std::size_t count) noexcept;
[[nodiscard]] inline std::size_t supply_bytes(const draft_format& format, std::uint32_t draft_length,
                                              std::size_t payload) noexcept;
//! Bytes that hold a supply message with the hidden states of all of `draft_length` drafts.
[[nodiscard]] inline std::size_t max_supply_bytes(const draft_format& format, std::uint32_t draft_length) noexcept;
//! Listed ids that the laws of one draft message can have, for the arena of a received_draft_block.
[[nodiscard]] inline std::uint64_t max_draft_entries(const draft_format& format, std::uint32_t draft_length) noexcept;
//! Workspace of decode_draft.
[[nodiscard]] inline std::size_t decode_draft_workspace_size(const draft_format& format) noexcept;

//! Reads the header alone. Errors: truncated, unknown_message; `where` = byte.
[[nodiscard]] inline status peek_header(std::span<const std::byte> message, message_header& out) noexcept;
//! CRC-32C of the context, the length, bytes 0..3 and the bytes from 8 on. The message must have 8 bytes or more.
[[nodiscard]] inline std::uint32_t message_checksum(const wire_context& context,
                                                    std::span<const std::byte> message) noexcept;
//! peek_header, then compares the checksum under this context: tells a message of this round from a stale or damaged
//! one without reading the body. For hello and resume the context is read from the body and `context` is not used.
//! Errors: also checksum_mismatch.
[[nodiscard]] inline status check_message(const wire_context& context, std::span<const std::byte> message) noexcept;

// Every context may carry any transmission number 0..15 (else field_out_of_range); decoders take any. Encoders write
// the whole message to the front of `out` and its length to `written`. Errors of all: output_too_small (`where` = bytes
// needed, where they are known), and what `check` says of the format. Decoders take exactly one message. Errors of all:
// those of check_message; truncated, trailing_bytes, padding_not_zero, message_too_large; not_canonical,
// field_out_of_range (`where` = byte or index).

[[nodiscard]] inline status encode_hello(const hello_message& value, std::span<std::byte> out,
                                         std::size_t& written) noexcept;
[[nodiscard]] inline status decode_hello(std::span<const std::byte> message, hello_message& value) noexcept;
[[nodiscard]] inline status encode_resume(const resume_message& value, std::span<std::byte> out,
                                          std::size_t& written) noexcept;
[[nodiscard]] inline status decode_resume(std::span<const std::byte> message, resume_message& value) noexcept;

//! Encodes 0..max_draft_length drafts with their laws, and what travels beside them. The laws must have the format's
//! vocabulary size and resolution (top_k_tail: l (V-K), l when K = V) and no tail (top_k_tail: counts that are
//! multiples of V-K).
//! Errors: draft_too_long, vocabulary_mismatch, invalid_resolution, law_kind_mismatch (tail; format without laws; a
//!         count that is no half float or no multiple), support_too_large, token_not_in_law and those of check(law);
//!         `where` = index of the draft. Of
//! the side: message_too_large (more skipped ids than agreed), token_out_of_range, size_mismatch (the vectors are not
//! those of the drafts), and those of check_hidden (`where` = index of the draft) and encode_channel_report.
template <lawful_draft Draft>
[[nodiscard]] status encode_draft(const wire_context& context, const draft_format& format,
                                  std::span<const Draft> drafts, std::span<std::byte> out, std::size_t& written,
                                  const draft_side& side = {}) noexcept;
//! Exact bytes of that message with so many skipped ids and laws of this resolution (0: the format's), without writing
//! it.
template <lawful_draft Draft>
[[nodiscard]] status draft_bytes(const draft_format& format, std::span<const Draft> drafts, std::size_t& bytes,
                                 std::size_t skipped = 0, std::uint32_t resolution = 0) noexcept;
//! Decodes into a block, which is emptied first. Errors: law_kind_mismatch, draft_too_long, support_too_large (the
//! block's arena), workspace_too_small, token_not_in_law, token_out_of_range, field_out_of_range (a half float outside
//! [0, 1]), empty_support, invalid_resolution. Skipped ids are written to the front of `skipped` (output_too_small), to
//! which side.skipped points; side.hidden points into the message.
[[nodiscard]] inline status decode_draft(const wire_context& context, const draft_format& format,
                                         std::span<const std::byte> message, workspace& scratch,
                                         received_draft_block& block, std::span<token_id> skipped,
                                         draft_side& side) noexcept;
//! Without a look at the side; a message with skipped ids is output_too_small.
[[nodiscard]] inline status decode_draft(const wire_context& context, const draft_format& format,
                                         std::span<const std::byte> message, workspace& scratch,
                                         received_draft_block& block) noexcept;
//! The same for formats without laws (token_only, token_and_count). Decoding writes `count` claims to the front of
//! `claims`.
[[nodiscard]] inline status encode_claims(const wire_context& context, const draft_format& format,
                                          std::span<const claimed_draft> claims, std::span<std::byte> out,
                                          std::size_t& written, const draft_side& side = {}) noexcept;
//! Exact bytes of a message of so many claims and skipped ids; 0 where encode_claims gives an error.
[[nodiscard]] inline std::size_t claims_bytes(const draft_format& format, std::size_t claims,
                                              std::size_t skipped = 0) noexcept;
[[nodiscard]] inline status decode_claims(const wire_context& context, const draft_format& format,
                                          std::span<const std::byte> message, std::span<claimed_draft> claims,
                                          std::uint32_t& count, std::span<token_id> skipped, draft_side& side) noexcept;
[[nodiscard]] inline status decode_claims(const wire_context& context, const draft_format& format,
                                          std::span<const std::byte> message, std::span<claimed_draft> claims,
                                          std::uint32_t& count) noexcept;

//! `draft_length`: the drafts of the round, which both sides know; the accepted count takes ceil(log2(draft_length +
//! 1)) bits.
[[nodiscard]] inline status encode_feedback(const wire_context& context, const draft_format& format,
                                            std::uint32_t draft_length, const feedback_message& value,
                                            std::span<std::byte> out, std::size_t& written) noexcept;
[[nodiscard]] inline status decode_feedback(const wire_context& context, const draft_format& format,
                                            std::uint32_t draft_length, std::span<const std::byte> message,
                                            feedback_message& value) noexcept;

//! Decoding writes the ids to `storage` and points `value.tokens` at them. Errors: output_too_small, token_out_of_range
//! (`where` = index).
[[nodiscard]] inline status encode_text(const wire_context& context, const draft_format& format,
                                        const text_message& value, std::span<std::byte> out,
                                        std::size_t& written) noexcept;
[[nodiscard]] inline status decode_text(const wire_context& context, const draft_format& format,
                                        std::span<const std::byte> message, std::span<token_id> storage,
                                        text_message& value) noexcept;

//! Decoding writes the bitmap to `words` (ceil(draft_length / 64) of them). At least one position must be named.
[[nodiscard]] inline status encode_request(const wire_context& context, const draft_format& format,
                                           std::uint32_t draft_length, const request_message& value,
                                           std::span<std::byte> out, std::size_t& written) noexcept;
[[nodiscard]] inline status decode_request(const wire_context& context, const draft_format& format,
                                           std::uint32_t draft_length, std::span<const std::byte> message,
                                           std::span<std::uint64_t> words, request_message& value) noexcept;
//! Decoding points `value.payload` into the message. Errors of what = 1: size_mismatch, those of check_hidden (`where`
//! = place among the vectors).
[[nodiscard]] inline status encode_supply(const wire_context& context, const draft_format& format,
                                          std::uint32_t draft_length, const supply_message& value,
                                          std::span<std::byte> out, std::size_t& written) noexcept;
[[nodiscard]] inline status decode_supply(const wire_context& context, const draft_format& format,
                                          std::uint32_t draft_length, std::span<const std::byte> message,
                                          std::span<std::uint64_t> words, supply_message& value) noexcept;

//! A refusal may answer bytes whose context is not known: the refusing side then uses a context of zeros.
[[nodiscard]] inline status encode_refuse(const wire_context& context, const refuse_message& value,
                                          std::span<std::byte> out, std::size_t& written) noexcept;
[[nodiscard]] inline status decode_refuse(const wire_context& context, std::span<const std::byte> message,
                                          refuse_message& value) noexcept;
[[nodiscard]] inline status encode_stop(const wire_context& context, const stop_message& value,
                                        std::span<std::byte> out, std::size_t& written) noexcept;
[[nodiscard]] inline status decode_stop(const wire_context& context, std::span<const std::byte> message,
                                        stop_message& value) noexcept;

SPECVERIFY_NAMESPACE_END

#include <specverify/codec/detail/message_claims.hpp>
#include <specverify/codec/detail/message_control.hpp>
#include <specverify/codec/detail/message_draft.hpp>
#include <specverify/codec/detail/message_fields.hpp>
#include <specverify/codec/detail/message_laws.hpp>
#include <specverify/codec/detail/message_payload.hpp>
#include <specverify/codec/detail/message_side.hpp>

#endif
